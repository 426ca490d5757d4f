//! Whether a file is the image's or this node's.
//!
//! /etc is the node's. A file there that is the image's own, byte for byte, counts as the image's
//! (ostree keeps the image's /etc as /usr/etc). /var, /usr/local, /opt and /run are the node's.
//! Where /bin, /sbin and /lib are links into /usr, paths through them are the image's: systemd before
//! 255 may name its unit files as /lib/systemd/system (`-Dsplit-usr=true`, as in Debian 12).

use std::fs;
use std::path::{Path, PathBuf};

/// The kubelet's folder. Its files are the image's kubeadm's, unless a flag names them.
const KUBEADMS: &str = "/var/lib/kubelet/";

/// Whether this path leads to something that is there and does not come from the image.
pub fn is_the_nodes(root: &Path, path: &Path) -> bool {
    path.is_absolute() && !path.starts_with(KUBEADMS) && is_not_the_images(root, path)
}

/// As [`is_the_nodes`], where no file is kubeadm's.
pub(super) fn is_not_the_images(root: &Path, path: &Path) -> bool {
    let here = below(root, path);
    if fs::symlink_metadata(&here).is_err() {
        return false;
    }
    if let Ok(in_etc) = path.strip_prefix("/etc") {
        return differs(&here, &root.join("usr/etc").join(in_etc));
    }
    !is_in_usr(root, path)
}

/// Whether this path, there or not, is where only the image has files.
pub fn is_in_usr(root: &Path, path: &Path) -> bool {
    let path = merged(root, path);
    path.starts_with("/usr") && !path.starts_with("/usr/local")
}

/// Where systemd looks for a bare name first (systemd.service(5), "Command lines").
const BEFORE_USR: [&str; 2] = ["/usr/local/sbin", "/usr/local/bin"];

/// Whether the image brings this program of a unit. One that is not there counts by its place.
pub fn is_the_images_program(root: &Path, program: &Path) -> bool {
    if program.is_relative() {
        let mut folders = BEFORE_USR.iter().map(Path::new);
        return !folders.any(|folder| below(root, &folder.join(program)).exists());
    }
    is_in_usr(root, program) || (below(root, program).exists() && !is_not_the_images(root, program))
}

/// The path below /usr, where it begins with a link of the root into /usr.
fn merged(root: &Path, path: &Path) -> PathBuf {
    let through_a_link = || {
        let inside = path.strip_prefix("/").ok()?;
        let link = inside.iter().next()?;
        let target = fs::read_link(root.join(link)).ok()?;
        let rest = inside.strip_prefix(link).ok()?;
        Some(Path::new("/").join(target).join(rest))
    };
    through_a_link().unwrap_or_else(|| path.to_owned())
}

/// Whether something here is not in the image, or is other there. The image may have more.
fn differs(here: &Path, image: &Path) -> bool {
    if here.is_dir() {
        let entries = fs::read_dir(here).into_iter().flatten().flatten();
        let mut names = entries.map(|entry| entry.file_name());
        return names.any(|name| differs(&here.join(&name), &image.join(&name)));
    }
    if let (Ok(link), Ok(own)) = (fs::read_link(here), fs::read_link(image)) {
        return link != own;
    }
    match (fs::read(here), fs::read(image)) {
        (Ok(here), Ok(image)) => here != image,
        // A link that leads nowhere, or a file that is the node's alone.
        (_, Err(_)) | (Err(_), _) => true,
    }
}

/// A path of a system, below its root.
pub(super) fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn paths_through_the_links_of_usr_are_the_images() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        write("usr/lib/systemd/system/kubelet.service");
        write("usr/bin/kubelet");
        write("var/opt/bin/kubelet");
        for (link, target) in [("lib", "usr/lib"), ("bin", "/usr/bin"), ("opt", "var/opt")] {
            symlink(target, root.path().join(link)).unwrap();
        }
        let is_the_nodes = |path: &str| is_the_nodes(root.path(), Path::new(path));
        assert!(!is_the_nodes("/lib/systemd/system/kubelet.service"));
        assert!(!is_the_nodes("/bin/kubelet"));
        assert!(is_the_nodes("/opt/bin/kubelet"));
        write("sbin/kubelet");
        assert!(is_the_nodes("/sbin/kubelet"), "it is no link");
    }
}
