//! What an exception from the comparison may be. One that no difference has would leave nothing out,
//! and nobody would notice before the trial.

use super::namespace::{is_begin, is_namespace};

/// The accepted form of an exception.
pub(super) const ACCEPTED: &str = "\"pod:<namespace>/<name>\", \"resource:<name>\", \"driver:<name>\", \"handler:<name>\", \"feature:<name>\", \"device:<driver>\", \"proxy:kube-proxy\", \"condition:<type>\", \"taint:<key>\", \"label:<key>\", \"address:<address>\", \"unit:<name>.<type>\" or \"system:<name>\", without blanks, with \"*\" at the end for any rest";

/// The kinds whose names are of any form.
const FREE: [&str; 10] = [
    "resource",
    "driver",
    "handler",
    "feature",
    "device",
    "condition",
    "taint",
    "label",
    "address",
    "system",
];

/// The only name of its kind.
const PROXY: &str = "kube-proxy";

/// The types of units (systemd.unit(5)).
const UNITS: [&str; 11] = [
    "automount",
    "device",
    "mount",
    "path",
    "scope",
    "service",
    "slice",
    "socket",
    "swap",
    "target",
    "timer",
];

/// Whether an exception can match anything.
pub(super) fn is_exception(text: &str) -> bool {
    let stem = text.strip_suffix('*');
    let is_whole = stem.is_none();
    let Some((kind, name)) = stem.unwrap_or(text).split_once(':') else {
        return false;
    };
    let is_plain = !name.contains(|letter: char| letter.is_whitespace() || letter == '*');
    is_plain
        && match kind {
            "pod" => is_pod(name, is_whole),
            "unit" if is_whole => is_unit(name),
            "unit" => true,
            "proxy" if is_whole => name == PROXY,
            "proxy" => PROXY.starts_with(name),
            kind => FREE.contains(&kind) && !(is_whole && name.is_empty()),
        }
}

/// The owner of a pod, as namespace and name, or what such a text can begin with.
fn is_pod(text: &str, is_whole: bool) -> bool {
    match text.split_once('/') {
        Some((namespace, name)) => {
            is_namespace(namespace) && is_name(name) && !(is_whole && name.is_empty())
        }
        None => !is_whole && is_begin(text),
    }
}

/// Whether the text has only letters of a DNS subdomain (RFC 1123), which names of controllers and
/// static pods are.
fn is_name(text: &str) -> bool {
    let is_letter = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    text.bytes()
        .all(|letter| is_letter(letter) || b"-.".contains(&letter))
}

fn is_unit(name: &str) -> bool {
    let parts = name.rsplit_once('.');
    parts.is_some_and(|(name, kind)| !name.is_empty() && UNITS.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exception_has_the_form_of_what_it_leaves_out() {
        for good in [
            "pod:kube-system/cni",
            "pod:kube-system/etcd-node.example",
            "pod:kube-*",
            "pod:kube-system/*",
            "pod:*",
            "proxy:kube-proxy",
            "proxy:*",
            "unit:nfs-client.service",
            "unit:dev-disk-by\\x2dlabel-DATA.swap",
            "unit:getty@tty1.service",
            "unit:nfs-*",
            "unit:*",
            "address:IPv6",
            "address:2001:db8::7",
            "feature:kata/userNamespaces",
            "condition:KernelDeadlock",
            "system:sysctl/*",
            "system:module/rbd",
        ] {
            assert!(is_exception(good), "{good}");
        }
    }

    #[test]
    fn exception_that_matches_nothing_is_none() {
        for bad in [
            "",
            "*",
            "cni",
            "pods:kube-system/cni",
            "pod:",
            "pod:cilium",
            "pod:kube-system/",
            "pod:/cni",
            "pod: kube-system/cni",
            "pod:kube-system/cni ",
            "pod:Kube-System/cni",
            "pod:Kube-*",
            "pod:kube-system/Cni",
            "pod:kube-system/*/x",
            "pod:kube-system/a/b",
            "proxy:kubeproxy",
            "proxy:kubep*",
            "unit:nfs-client",
            "unit:nfs.client",
            "unit:.service",
            "unit:nfs client.service",
            "unit:nfs-*.service",
            "resource:",
            "taint: example.com/x",
        ] {
            assert!(!is_exception(bad), "{bad}");
        }
    }
}
