//! Words of an error by which a container does not start for something that the image does not
//! bring: a disk that is full or fails, memory or descriptors that the node lacks, a runtime that
//! is still busy with the try before, or has too little or too much of its state in /var, a device,
//! a profile or a path of the node that is not there, a security policy of the node, or what the
//! container's own image lacks.

use std::path::Path;

use crate::health::ownership::{is_in_usr, is_the_nodes};

/// The texts of errno(3) that say so, and words of containerd (internal/cri/server,
/// `CreateContainer`; pkg/oci, `DeviceFromPath` and `WithUser`; core/snapshots/storage), runc and
/// crun.
const ELSEWHERE: [&str; 28] = [
    "no space left on device",
    "disk quota exceeded",
    "input/output error",
    "read-only file system",
    "structure needs cleaning",
    "cannot allocate memory",
    "too many open files",
    "resource temporarily unavailable",
    // A file system of the network, or one of a program of the node (FUSE).
    "stale file handle",
    "stale nfs file handle",
    "transport endpoint is not connected",
    // The try before has the name, as after a disk that answered late.
    "failed to reserve",
    "deadline exceeded",
    "timed out",
    // A power cut or a clean-up of the old system has left the runtime's own state incomplete
    // (containerd/containerd#3401, #3671, #7834, #10457). Nothing of the image is in it.
    "content digest sha256:",
    "parent snapshot sha256:",
    "missing parent \"",
    "failed to stat parent",
    "failed to create prepare snapshot dir",
    // The shim or the container's first process ended, as for want of memory.
    "ttrpc: closed",
    "container init was oom-killed",
    // Hardware may have lost it.
    "device information",
    // A pod or a program of the node specifies it (CDI).
    "unresolvable cdi devices",
    // A pod or a service of the node may load it.
    "apparmor failed to apply profile",
    "apparmor profile not found",
    // The container's image lacks its program or its user. Without runc itself no sandbox starts.
    "executable file not found",
    "executable file `",
    "unable to find user",
];

/// Before what containerd says of its own state, as it creates a container (internal/cri/server,
/// `CreateContainer`).
const CREATES: &str = "failed to create containerd container";

/// What it says where leftovers of a try before are in the way, which a power cut or the old
/// system has left (core/metadata/snapshot.go; plugins/snapshots/overlay, `createSnapshot`).
const LEFTOVERS: [&str; 3] = ["\": already exists", "directory not empty", "file exists"];

/// What precedes a path of the host that is not there or is of another type, in words of containerd
/// (internal/cri/opts, `WithMounts`; contrib/seccomp, `WithProfile`), runc and crun.
const HOST_PATH: [&str; 8] = [
    "cannot load seccomp profile \"",
    "decoding seccomp profile failed \"",
    "failed to mkdir \"",
    "failed to stat \"",
    "failed to resolve symlink \"",
    "cannot stat `",
    MOUNTS[0],
    MOUNTS[1],
];

/// Before the source of a mount, which may also fail for what the kernel or runc lacks.
const MOUNTS: [&str; 2] = ["mounting \"", "mount `"];

/// The texts of errno(3) that leave it to the path.
const NOT_THERE: [&str; 3] = [
    "not a directory",
    "is a directory",
    "no such file or directory",
];

/// Where the rules are by which the kernel denies a program what it needs.
const SECURITY: [&str; 2] = ["/etc/selinux", "/etc/apparmor.d"];

/// Whether the message of a container that cannot be started names such a cause, on a node with
/// this root. They only take blame from an image.
pub(super) fn is_elsewhere(root: &Path, message: &str) -> bool {
    let message = message.to_lowercase();
    ELSEWHERE.iter().any(|words| message.contains(words))
        || meets_leftovers(&message)
        || lacks_its_program(&message)
        || lacks_a_host_path(&message)
        || is_denied_by_the_node(root, &message)
}

fn is_denied_by_the_node(root: &Path, message: &str) -> bool {
    let mut rules = SECURITY.iter().map(Path::new);
    message.contains("permission denied") && rules.any(|path| is_the_nodes(root, path))
}

fn meets_leftovers(message: &str) -> bool {
    message.contains(CREATES) && LEFTOVERS.iter().any(|words| message.contains(words))
}

/// As "executable file not found", where the container names its program by a path.
fn lacks_its_program(message: &str) -> bool {
    let named = message.split_once("exec: \"/");
    named.is_some_and(|(_, path)| path.contains("\": stat /") && path.contains(NOT_THERE[2]))
}

/// A service or a pod of the node makes the path, and may not have made it yet: the kubelet or
/// containerd then makes a folder where a socket should be (submariner-io/submariner-operator#2846).
/// Only the image makes what is below /usr.
fn lacks_a_host_path(message: &str) -> bool {
    let is_not_there = NOT_THERE.iter().any(|words| message.contains(words));
    let mut after = HOST_PATH.iter().filter_map(|words| {
        let (_, named) = message.split_once(words)?;
        let path = named.split(['"', '`']).next()?;
        let counts = is_not_there || !MOUNTS.contains(words);
        counts.then(|| Path::new(path))
    });
    after.any(|path| path.is_absolute() && !is_in_usr(Path::new("/"), path))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn denial_under_a_security_policy_of_the_node_is_elsewhere() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let denied = || is_elsewhere(root.path(), "error mounting \"proc\": Permission denied");
        for (own, image) in [
            ("etc/apparmor.d/runc", "usr/etc/apparmor.d/runc"),
            ("etc/selinux/config", "usr/etc/selinux/config"),
        ] {
            write(image, "shipped");
            write(own, "shipped");
            assert!(!denied(), "{own} is the image's");
            write(own, "changed");
            assert!(denied(), "{own}");
            assert!(!is_elsewhere(root.path(), "exec format error"));
            write(own, "shipped");
        }
    }
}
