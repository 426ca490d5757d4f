//! What is asked of the runtime for our sandbox.

use std::collections::HashMap;
use std::path::Path;

use super::messages::{Config, Dns, Linux, Metadata, Mode, Namespaces, Profile, Security};
use super::network::Network;

/// The label of our sandboxes, by which an agent finds what a killed one has left.
pub(super) const LABEL: (&str, &str) = ("careen.dev/probe", "sandbox");

/// A sandbox as small as the kubelet's smallest. It has no log folder, because no container
/// follows.
pub(super) fn of(network: Network, root: &Path) -> Config {
    let (name, value) = LABEL;
    let hostname = match network {
        Network::Own => "careen-probe",
        // The node's own, as for a pod with hostNetwork.
        Network::Node => "",
    };
    Config {
        metadata: Some(Metadata {
            name: "careen-probe".to_owned(),
            uid: uid(),
            namespace: "careen".to_owned(),
        }),
        hostname: hostname.to_owned(),
        // Without any, containerd copies /etc/resolv.conf, which a node need not have.
        dns: Some(Dns {
            options: vec!["ndots:5".to_owned()],
        }),
        labels: HashMap::from([(name.to_owned(), value.to_owned())]),
        linux: Some(linux(network, root)),
    }
}

fn linux(network: Network, root: &Path) -> Linux {
    Linux {
        cgroup_parent: cgroup_parent(root).to_owned(),
        security: Some(Security {
            namespaces: Some(Namespaces {
                network: Mode::from(network).into(),
                pid: Mode::Container.into(),
            }),
            seccomp: Some(Profile {}),
        }),
    }
}

/// A name that no sandbox has used, because a runtime keeps the names of those that it could not
/// remove.
fn uid() -> String {
    let uid = std::fs::read_to_string("/proc/sys/kernel/random/uuid");
    uid.map_or_else(
        |_| std::process::id().to_string(),
        |uid| uid.trim().to_owned(),
    )
}

/// The kubelet's own cgroup for pods, in the form of its driver: systemd's or cgroupfs'. runc with
/// systemd's driver accepts only a slice (runc, libcontainer/specconv, `CreateCgroupConfig`), and
/// with the other one it accepts any name. The kubelet has no such cgroup if it is so configured.
fn cgroup_parent(root: &Path) -> &'static str {
    let is_there = |name| {
        let of = |hierarchy: &str| {
            root.join("sys/fs/cgroup")
                .join(hierarchy)
                .join(name)
                .is_dir()
        };
        // The second folder is systemd's hierarchy of cgroup v1, the third a controller's.
        ["", "systemd", "cpu"].into_iter().any(of)
    };
    if is_there("kubepods.slice") {
        "kubepods-besteffort.slice"
    } else if is_there("kubepods") {
        "/kubepods/besteffort"
    } else {
        "system.slice"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cgroup_parent_follows_the_kubelets_driver() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(cgroup_parent(root.path()), "system.slice");
        let make = |path: &str| std::fs::create_dir_all(root.path().join(path)).unwrap();
        make("sys/fs/cgroup/cpu/kubepods");
        assert_eq!(cgroup_parent(root.path()), "/kubepods/besteffort");
        make("sys/fs/cgroup/kubepods.slice");
        assert_eq!(cgroup_parent(root.path()), "kubepods-besteffort.slice");
    }
}
