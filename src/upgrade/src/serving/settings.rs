//! What the system sets and brings for the network and the volumes of pods. A Node is Ready without
//! it.

use std::collections::BTreeSet;

use super::lack::{Lack, gone};
use crate::policy::{Demand, Serving};

/// The begin of the name of a sysctl.
pub const SYSCTL: &str = "sysctl/";

/// The sysctls that are on where the kernel passes packets of pods on, and packets on a bridge
/// through the rules of services (kubernetes.io/docs/setup/production-environment/container-runtimes).
pub const SWITCHES: [&str; 3] = [
    "net.ipv4.ip_forward",
    "net.ipv6.conf.all.forwarding",
    "net.bridge.bridge-nf-call-iptables",
];

/// The sysctls by which the kernel drops packets that come in another way than their answers leave
/// (kernel.org/doc, networking/ip-sysctl, `rp_filter`). The strict way breaks some network plugins
/// (cilium/cilium, issue 10645).
pub const FILTERS: [&str; 2] = [
    "net.ipv4.conf.all.rp_filter",
    "net.ipv4.conf.default.rp_filter",
];

/// The begin of the name of a program that mounts a type of volume.
pub const MOUNT: &str = "mount/";

/// No service of the system has rules of its own for packets.
pub const NO_PACKET_FILTER: &str = "no-packet-filter";

/// What was so before the drain and is not, and how the policy rates each.
#[must_use]
pub fn unset(
    before: Option<&BTreeSet<String>>,
    now: Option<&BTreeSet<String>>,
    policy: &Serving,
) -> Vec<(Demand, Lack)> {
    gone(before, now, |name| (rating(name, policy), told(name)))
}

/// Pods of each kind need the switches. Few need the rest.
fn rating(name: &str, policy: &Serving) -> Demand {
    match name.strip_prefix(SYSCTL) {
        Some(sysctl) if SWITCHES.contains(&sysctl) => policy.system,
        Some(_) | None => policy.system.at_most_warn(),
    }
}

fn told(name: &str) -> String {
    if name == NO_PACKET_FILTER {
        return "a packet filter runs that did not before the drain (firewalld, iptables, nftables or ufw), which may drop packets of pods".to_owned();
    }
    match (name.strip_prefix(SYSCTL), name.strip_prefix(MOUNT)) {
        (Some(sysctl), _) if FILTERS.contains(&sysctl) => format!(
            "{sysctl} was loose or off before the drain and is strict, which may drop packets of pods"
        ),
        (Some(sysctl), _) => format!(
            "{sysctl} was on before the drain and is off, without which packets of pods are lost"
        ),
        (None, Some(kind)) => format!(
            "the node had mount.{kind} before the drain and does not, without which such volumes are not mounted"
        ),
        (None, None) => format!("the node had {name} before the drain and does not"),
    }
}
