//! The critical files. The list is short on purpose: the stage reads the files at every trial boot
//! if the kernel does not verify them. The initramfs's own files were verified by then through the
//! kernel's checksum.

use super::file::File;
use crate::verify::folder::Folder;

/// Needed to boot and to fall back: pid 1, what mounts the root and finds devices, and
/// `careen-stage`, which is the deadman and the fallback. The agent is not one of them: the deadman
/// ends a trial with a dead agent.
const BOOT: &[&str] = &[
    "usr/lib/systemd/systemd",
    "usr/lib/systemd/systemd-executor",
    "usr/lib/systemd/systemd-shutdown",
    "usr/lib/systemd/systemd-udevd",
    "usr/lib/systemd/systemd-remount-fs",
    "usr/lib/systemd/system-generators/ostree-system-generator",
    "usr/lib/ostree",
    "usr/libexec/careen/careen-stage",
    "usr/lib/careen",
    "usr/bin/dash",
    "usr/bin/mount",
    "usr/bin/umount",
    "usr/bin/systemctl",
];
/// Libraries of those programs, by the beginning of their names, in the folders of
/// [`LIBRARY_FOLDERS`].
const BOOT_LIBRARIES: &[&str] = &[
    "ld-linux",
    "libc.so",
    "libm.so",
    "libsystemd",
    "libmount.so",
    "libblkid.so",
    "libselinux.so",
    "libpcre2-8.so",
    "libcap.so",
    "libseccomp.so",
    "libkmod.so",
    "libacl.so",
    "libcrypt.so",
    "libpam.so",
    "libaudit.so",
    "libtinfo.so",
    "libostree-1.so",
    "libglib-2.0.so",
    "libgio-2.0.so",
    "libgobject-2.0.so",
];
const LIBRARY_FOLDERS: &[&str] = &["usr/lib64", "usr/lib/systemd"];
/// What judges a trial and what runs the node's work, verified before the kubelet starts.
const REST: &[&str] = &[
    "usr/lib/systemd/systemd-journald",
    "usr/lib/systemd/systemd-logind",
    "usr/libexec/careen/careen-agent",
    "usr/libexec/careen/careen-control",
    "usr/libexec/careen/careen-deploy",
    "usr/libexec/careen/careen-grub",
    "usr/bin/bash",
    "usr/bin/dbus-daemon",
    "usr/bin/dbus-broker",
    "usr/bin/dbus-broker-launch",
    "usr/bin/kubelet",
    "usr/bin/kubeadm",
    "usr/bin/containerd",
    "usr/bin/containerd-shim-runc-v2",
    "usr/bin/crio",
    "usr/bin/conmon",
    "usr/bin/runc",
    "usr/sbin/runc",
    "usr/bin/crun",
];

/// The critical files of an image, in the order of their paths.
pub fn of(root: &Folder) -> Vec<File> {
    let mut files = present(root, BOOT, true);
    for folder in library_folders(root) {
        libraries(root, &folder, &mut files);
    }
    files.extend(present(root, REST, false));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    files
}

/// The files of a list. For a folder, all files in it and below it.
fn present(root: &Folder, list: &[&str], boot: bool) -> Vec<File> {
    let mut files = Vec::new();
    for path in list {
        match root.folder(path) {
            Some(folder) => all(&folder, path, boot, &mut files),
            None => files.extend(at(root, path, boot)),
        }
    }
    files
}

/// Follows a link to its file.
fn at(root: &Folder, path: &str, boot: bool) -> Option<File> {
    let (path, object) = root.leads_to(path)?;
    let object = object.parse().ok()?;
    Some(File { path, object, boot })
}

/// A file in a folder whose files are all listed, so there is no need to follow links.
fn one(folder: &Folder, path: &str, name: &str, boot: bool) -> Option<File> {
    let object = folder.file(name)?.parse().ok()?;
    let path = format!("{path}/{name}");
    Some(File { path, object, boot })
}

fn all(folder: &Folder, path: &str, boot: bool, files: &mut Vec<File>) {
    files.extend(
        folder
            .files()
            .filter_map(|name| one(folder, path, name, boot)),
    );
    for name in folder.folders() {
        if let Some(below) = folder.folder(name) {
            all(&below, &format!("{path}/{name}"), boot, files);
        }
    }
}

fn libraries(root: &Folder, path: &str, files: &mut Vec<File>) {
    let Some(folder) = root.folder(path) else {
        return;
    };
    let wanted = |name: &&str| BOOT_LIBRARIES.iter().any(|prefix| name.starts_with(prefix));
    let names = folder.files().filter(wanted);
    files.extend(names.filter_map(|name| one(&folder, path, name, true)));
}

/// [`LIBRARY_FOLDERS`], Debian's folders of one machine's libraries, and systemd's own in each.
fn library_folders(root: &Folder) -> Vec<String> {
    let lib = root.folder("usr/lib");
    let names = lib.iter().flat_map(Folder::folders);
    let triples = names.filter(|name| name.ends_with("-linux-gnu"));
    let mut folders: Vec<_> = LIBRARY_FOLDERS
        .iter()
        .map(|path| (*path).to_owned())
        .collect();
    folders.extend(triples.map(|name| format!("usr/lib/{name}")));
    let subfolders: Vec<_> = folders
        .iter()
        .map(|path| format!("{path}/systemd"))
        .collect();
    folders.extend(subfolders);
    folders
}
