//! Which files the stage and the kubelet's start look at again before a trial goes on, and the list of them.
//!
//! Few on purpose: the stage reads them at every trial boot. What the initramfs itself holds was checked by then
//! through the kernel's checksum; what is not here was checked by `verify` and can only rot.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;

use host::manifest::{FileDigest, Manifest};
use host::{Places, verity};
use upgrade::Reason;
use upgrade::image::Deployment;

use crate::site::Site;

/// Needed to boot and to fall back: pid 1, what mounts the root and finds devices, and `careen-stage`, which is the deadman and
/// the fallback. The agent is not among them: a trial with a dead agent ends by the deadman.
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
/// Libraries of those, by the beginning of their names, in the folders of [`LIBRARY_FOLDERS`].
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
/// What judges a trial and what runs the node's work, checked before the kubelet starts.
const REST: &[&str] = &[
    "usr/lib/systemd/systemd-journald",
    "usr/lib/systemd/systemd-logind",
    "usr/libexec/careen/careen-agent",
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

/// Writes the list for a deployment, each file sealed with fs-verity where the file system can.
///
/// # Errors
/// When a file cannot be read or the list is not on the disk.
pub fn write(site: &Site, folder: &Path, facts: &Deployment) -> Result<(), Reason> {
    let boot = boot_files(folder).into_iter().map(|path| (path, true));
    let rest = present(folder, REST).into_iter().map(|path| (path, false));
    let files = digests(folder, &boot.chain(rest).collect::<Vec<_>>());
    let manifest = files.and_then(|files| {
        let (format, commit, bootcsum) = (1, facts.digest.clone(), facts.bootcsum.clone());
        Manifest {
            format,
            commit,
            bootcsum,
            files,
        }
        .write(&Places::physical(&site.path))
    });
    manifest.map_err(|error| site.broken(error))
}

/// Hashes on two threads: kubelet, kubeadm and containerd are most of what a deploy computes.
fn digests(folder: &Path, paths: &[(String, bool)]) -> host::Result<Vec<FileDigest>> {
    let one = |(path, boot): &(String, bool)| {
        seal(&folder.join(path));
        FileDigest::of(folder, path, *boot)
    };
    // Every second one, so that the large ones, which lie together, are shared out.
    let half = |first: usize| {
        paths
            .iter()
            .skip(first)
            .step_by(2)
            .map(one)
            .collect::<host::Result<Vec<_>>>()
    };
    let (even, odd) = thread::scope(|scope| {
        let odd = scope.spawn(|| half(1));
        let even = half(0);
        (even, odd.join())
    });
    let mut files = even?;
    files.extend(odd.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Best effort: ext4 needs `-O verity` for it, and without it the digests are compared by reading.
fn seal(path: &Path) {
    let _ = File::open(path).map(|file| verity::seal(&file));
}

fn boot_files(folder: &Path) -> Vec<String> {
    let mut files = present(folder, BOOT);
    let triples = children(&folder.join("usr/lib"))
        .into_iter()
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().ends_with("-linux-gnu"))
        });
    for library_folder in LIBRARY_FOLDERS
        .iter()
        .map(|path| folder.join(path))
        .chain(triples)
    {
        let subfolder = library_folder.join("systemd");
        let all = children(&library_folder)
            .into_iter()
            .chain(children(&subfolder));
        files.extend(
            all.filter(|path| is_boot_library(path))
                .filter_map(|path| below(folder, &path)),
        );
    }
    files.sort();
    files.dedup();
    files
}

fn is_boot_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    is_file(path) && BOOT_LIBRARIES.iter().any(|prefix| name.starts_with(prefix))
}

/// The files of a list that are there; of a folder all files in it, and below it.
fn present(folder: &Path, list: &[&str]) -> Vec<String> {
    let mut files = Vec::new();
    for path in list {
        collect(&folder.join(path), &mut files);
    }
    files
        .iter()
        .filter_map(|path| below(folder, path))
        .collect()
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if is_file(path) {
        files.push(path.to_owned());
    } else if path.symlink_metadata().is_ok_and(|facts| facts.is_dir()) {
        children(path)
            .iter()
            .for_each(|child| collect(child, files));
    }
}

/// Links are left out: an absolute one would lead into the running system.
fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|facts| facts.is_file())
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}

fn below(folder: &Path, path: &Path) -> Option<String> {
    Some(path.strip_prefix(folder).ok()?.to_str()?.to_owned())
}
