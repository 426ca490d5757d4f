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

/// The processes with a mount of the deployment's own folder, or of something in it, in order.
/// `proc` is /proc.
#[must_use]
pub fn users(proc: &Path, booted: &Deployment) -> Vec<User> {
    let own = format!("/{}.{}{}", booted.digest, booted.serial, names::KUBERNETES);
    let processes = fs::read_dir(proc).into_iter().flatten().flatten();
    let mut users: Vec<_> = processes
        .filter_map(|process| {
            let pid: u32 = process.file_name().to_str()?.parse().ok()?;
            let mounts = fs::read_to_string(process.path().join("mountinfo")).ok()?;
            mounts.lines().find(|line| is_from(line, &own))?;
            let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            let name = name.trim_end().to_owned();
            Some(User { name, pid })
        })
        .collect();
    users.sort();
    users
}

/// The fourth field of a line is the path in the file system that the mount shows (`proc_pid_mountinfo(5)`).
fn is_from(line: &str, own: &str) -> bool {
    let Some((_, below)) = line.split(' ').nth(3).and_then(|from| from.split_once(own)) else {
        return false;
    };
    below.is_empty() || below.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mounts_of_the_folder_or_below_count() {
        let own = "/abc.0/etc/kubernetes";
        let line = |from: &str| format!("31 23 8:4 {from} /etc/kubernetes rw - ext4 /dev/vda4 rw");
        let deploy = "/ostree/deploy/os/deploy/abc.0/etc";
        for from in ["kubernetes", "kubernetes/pki", "kubernetes/admin.conf"] {
            assert!(is_from(&line(&format!("{deploy}/{from}")), own), "{from}");
        }
        for from in ["kubernetes-old", "kubelet"] {
            assert!(!is_from(&line(&format!("{deploy}/{from}")), own), "{from}");
        }
        assert!(!is_from(
            &line("/ostree/deploy/os/var/lib/careen/kubernetes"),
            own
        ));
        assert!(!is_from("torn", own));
    }
}
