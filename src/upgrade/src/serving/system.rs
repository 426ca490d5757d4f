//! What the kernel and the system have for pods.

use std::collections::BTreeSet;

use super::lack::{Lack, gone};
use crate::policy::{Demand, Serving};

/// The kernel enforces AppArmor profiles.
pub const APPARMOR: &str = "apparmor";

/// The kernel enforces an SELinux policy.
pub const SELINUX: &str = "selinux";

/// Programs of the system can ask a resolver.
pub const RESOLVER: &str = "resolver";

/// There are certificates of public authorities.
pub const CERTIFICATES: &str = "certificates";

/// The begin of the name of a cgroup controller.
pub const CGROUP: &str = "cgroup/";

/// The controllers by which the kubelet limits pods (kubernetes, pkg/kubelet/cm). Pods do not ask
/// for the others.
const USED: [&str; 6] = ["cpu", "cpuset", "hugetlb", "io", "memory", "pids"];

/// What was there before the drain and is not, and how the policy rates each. A kernel lacks it, or
/// its command line, which may be the node's, turns it off.
#[must_use]
pub fn absent(
    before: Option<&BTreeSet<String>>,
    now: Option<&BTreeSet<String>>,
    policy: &Serving,
) -> Vec<(Demand, Lack)> {
    gone(before, now, |name| {
        let what = format!("the node had {} before the drain and does not", told(name));
        (rating(name, policy), what)
    })
}

fn rating(name: &str, policy: &Serving) -> Demand {
    match name.strip_prefix(CGROUP) {
        Some(controller) if !USED.contains(&controller) => policy.system.at_most_warn(),
        Some(_) | None => policy.system,
    }
}

fn told(name: &str) -> String {
    match name {
        APPARMOR => "AppArmor, without which pods with a profile are rejected,".to_owned(),
        SELINUX => "SELinux, which confines pods,".to_owned(),
        RESOLVER => "a resolver, without which the runtime pulls no image,".to_owned(),
        CERTIFICATES => {
            "certificates of public authorities, without which the runtime pulls no image,"
                .to_owned()
        }
        other => match other.strip_prefix(CGROUP) {
            Some(controller) => format!("the cgroup controller {controller}"),
            None => other.to_owned(),
        },
    }
}
