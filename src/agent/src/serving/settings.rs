//! What the system sets and brings for the network and the volumes of pods.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use systemd::Bus;
use upgrade::serving::{FILTERS, MOUNT, NO_PACKET_FILTER, SWITCHES, SYSCTL};

/// Services that load rules of their own for packets.
const PACKET_FILTERS: [&str; 5] = [
    "firewalld.service",
    "iptables.service",
    "netfilter-persistent.service",
    "nftables.service",
    "ufw.service",
];

/// Where mount(8) finds the program of a type. The kubelet runs mount for volumes.
const HELPERS: [&str; 2] = ["usr/sbin", "sbin"];

/// The value of a strict `rp_filter`.
const STRICT: &str = "1";

/// What this system sets and brings. `None` if systemd does not answer.
pub async fn settings() -> Option<BTreeSet<String>> {
    let active = Bus::system().await.ok()?.active().await.ok()?;
    Some(of(Path::new("/"), &active))
}

/// The same of the system at this root, with these active units.
fn of(root: &Path, active: &BTreeSet<String>) -> BTreeSet<String> {
    let is_on = |name: &&&str| sysctl(root, name).is_some_and(|value| value != "0");
    let is_loose = |name: &&&str| sysctl(root, name).is_some_and(|value| value != STRICT);
    let switches = SWITCHES.iter().filter(is_on);
    let sysctls = switches.chain(FILTERS.iter().filter(is_loose));
    let sysctls = sysctls.map(|name| format!("{SYSCTL}{name}"));
    let is_filtered = PACKET_FILTERS.iter().any(|unit| active.contains(*unit));
    let unfiltered = (!is_filtered).then(|| NO_PACKET_FILTER.to_owned());
    sysctls.chain(helpers(root)).chain(unfiltered).collect()
}

/// What a sysctl of the system at this root says.
pub fn sysctl(root: &Path, name: &str) -> Option<String> {
    let path = root.join("proc/sys").join(name.replace('.', "/"));
    let value = fs::read_to_string(path).ok()?;
    Some(value.trim().to_owned())
}

fn helpers(root: &Path) -> BTreeSet<String> {
    let folders = HELPERS.iter().map(|folder| fs::read_dir(root.join(folder)));
    let files = folders.flatten().flatten().flatten();
    let files = files.filter(|file| file.path().is_file());
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    let kinds = names.filter_map(|name| name.strip_prefix("mount.").map(str::to_owned));
    kinds.map(|kind| format!("{MOUNT}{kind}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_sets_for_pods_is_noted() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let now = |active: &[&str]| {
            let active = active.iter().map(ToString::to_string).collect();
            Vec::from_iter(of(root.path(), &active))
        };
        assert_eq!(now(&[]), ["no-packet-filter"]);
        assert_eq!(now(&["ufw.service"]), [""; 0]);
        write("proc/sys/net/ipv4/ip_forward", "1\n");
        write("proc/sys/net/ipv4/conf/all/rp_filter", "2\n");
        write("proc/sys/net/ipv4/conf/default/rp_filter", "1\n");
        write("proc/sys/net/bridge/bridge-nf-call-iptables", "0\n");
        write("usr/sbin/mount.nfs", "");
        write("usr/sbin/mountstats", "");
        let all = [
            "mount/nfs",
            "sysctl/net.ipv4.conf.all.rp_filter",
            "sysctl/net.ipv4.ip_forward",
        ];
        assert_eq!(now(&["nftables.service"]), all);
    }
}
