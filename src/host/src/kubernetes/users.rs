//! Processes that still use the deployment's own /etc/kubernetes. A container keeps the folder that
//! was there when it started: a mount that is made later does not reach it.

use std::fs;
use std::path::Path;

use upgrade::{Deployment, names};

/// A process that uses the folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct User {
    /// Its name, such as `etcd`.
    pub name: String,
    /// Its number.
    pub pid: u32,
}

/// The processes that see the deployment's own folder, or something in it, in order. `proc` is
/// /proc.
#[must_use]
pub fn users(proc: &Path, booted: &Deployment) -> Vec<User> {
    let deployment = format!("/{}.{}", booted.digest, booted.serial);
    let processes = fs::read_dir(proc).into_iter().flatten().flatten();
    let mut users: Vec<_> = processes
        .filter_map(|process| {
            let pid: u32 = process.file_name().to_str()?.parse().ok()?;
            let mounts = fs::read_to_string(process.path().join("mountinfo")).ok()?;
            if !sees(&mounts, &deployment) {
                return None;
            }
            let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            let name = name.trim_end().to_owned();
            Some(User { name, pid })
        })
        .collect();
    users.sort();
    users
}

/// A mount: the path in its file system, and where it is mounted (`proc_pid_mountinfo(5)`).
fn mount(line: &str) -> Option<(&str, &str)> {
    let mut fields = line.split(' ').skip(3);
    Some((fields.next()?, fields.next()?))
}

/// Whether a process with these mounts sees the folder of this deployment: it is mounted there, or
/// the deployment's root or /etc is, and no other mount hides the folder.
fn sees(mounts: &str, deployment: &str) -> bool {
    let all: Vec<_> = mounts.lines().filter_map(mount).collect();
    let hides = |place: &str| {
        let mut others = all.iter().filter(|(from, _)| !from.contains(deployment));
        others.any(|(_, at)| *at == place)
    };
    all.iter()
        .any(|(from, at)| match place(from, at, deployment) {
            Place::Elsewhere => false,
            Place::Folder => true,
            Place::Above(place) => !hides(&place),
        })
}

/// Where a mount shows the folder.
enum Place {
    /// Nowhere.
    Elsewhere,
    /// The mount is the folder, or something in it.
    Folder,
    /// Below the mount, at this path.
    Above(String),
}

fn place(from: &str, at: &str, deployment: &str) -> Place {
    let Some((_, below)) = from.split_once(deployment) else {
        return Place::Elsewhere;
    };
    let is_below = |path: &str, folder: &str| {
        let rest = path.strip_prefix(folder);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if is_below(below, names::KUBERNETES) {
        return Place::Folder;
    }
    match names::KUBERNETES.strip_prefix(below) {
        Some(rest) if rest.starts_with('/') => {
            Place::Above(format!("{}{rest}", at.trim_end_matches('/')))
        }
        Some(_) | None => Place::Elsewhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPLOY: &str = "/ostree/deploy/os/deploy/abc.0";
    const SHARED: &str = "/ostree/deploy/os/var/lib/careen/kubernetes";

    fn does_see(mounts: &[(&str, &str)]) -> bool {
        let line = |(from, at): &(&str, &str)| format!("31 23 8:4 {from} {at} rw - ext4 x rw\n");
        let text: String = mounts.iter().map(line).collect();
        sees(&text, "/abc.0")
    }

    #[test]
    fn mount_of_the_folder_or_of_something_in_it_sees_it() {
        for below in ["kubernetes", "kubernetes/pki", "kubernetes/admin.conf"] {
            assert!(
                does_see(&[(&format!("{DEPLOY}/etc/{below}"), "/x")]),
                "{below}"
            );
        }
        for below in ["kubernetes-old", "kubelet"] {
            assert!(
                !does_see(&[(&format!("{DEPLOY}/etc/{below}"), "/x")]),
                "{below}"
            );
        }
    }

    #[test]
    fn whole_etc_or_root_sees_it_unless_the_shared_folder_hides_it() {
        let etc = format!("{DEPLOY}/etc");
        let (root, sysroot) = ((DEPLOY, "/"), ("/", "/sysroot"));
        assert!(
            !does_see(&[root, sysroot, (SHARED, "/etc/kubernetes")]),
            "the node itself"
        );
        assert!(
            does_see(&[root, sysroot]),
            "a namespace that got no new mount"
        );
        assert!(
            does_see(&[(&etc, "/host/etc")]),
            "a container with all of /etc"
        );
        assert!(!does_see(&[
            (&etc, "/host/etc"),
            (SHARED, "/host/etc/kubernetes")
        ]));
        assert!(does_see(&[(DEPLOY, "/host"), (SHARED, "/etc/kubernetes")]));
        assert!(!does_see(&[sysroot, ("torn", "")]));
    }
}
