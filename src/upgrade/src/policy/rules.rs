//! Ranges of the policy's values that their types do not express.

use super::branches::{self, is_pattern};
use super::exception::{self, is_exception};
use super::namespace::is_namespace;
use super::outside::Outside;
use super::{
    ControlPlane, Drain, Health, Hooks, Kubeadm, Limits, LoadBalancer, Neighbours, Policy, Reboot,
    Registry, SOAK_MAX, Serving,
};
use crate::drain_order::Group;
use crate::target::is_remote;
use crate::window::{LAST_BEGIN, Window};

/// Whether a value is in its range, the field, and the accepted form.
type Rule = (bool, &'static str, &'static str);

impl Policy {
    /// Checks the ranges that the types do not express.
    ///
    /// # Errors
    /// The first value out of range.
    pub fn validate(&self) -> Result<(), Outside> {
        let sections: [&[Rule]; 12] = [
            &top(self),
            &window(&self.window),
            &registry(&self.registry),
            &leaving(&self.hooks, &self.load_balancer),
            &neighbours(&self.neighbours),
            &drain(&self.drain),
            &kubeadm(&self.kubeadm),
            &control_plane(&self.control_plane),
            &health(&self.health),
            &compared(&self.serving),
            &reboot(&self.reboot),
            &limits(&self.limits),
        ];
        let mut rules = sections.into_iter().flatten();
        match rules.find(|(holds, ..)| !holds) {
            Some((_, field, accepted)) => Err(Outside {
                field,
                accepted,
                wrong: self.wrong_element(field),
            }),
            None => Ok(()),
        }
    }

    /// The first wrong element of a list.
    fn wrong_element(&self, field: &str) -> Option<String> {
        let (branches, registry) = (&self.branches, &self.registry);
        let text = |list: &[String], is_right: fn(&str) -> bool| {
            let at = list.iter().position(|one| !is_right(one))?;
            Some(format!("element {}, {:?}, is not", at + 1, list[at]))
        };
        match field {
            BRANCHES => text(branches, is_pattern),
            ALLOWED => text(&registry.allowed, is_place),
            ARCHIVES => text(&registry.archives, is_folder),
            ORDER => wrong_group(&self.drain.order),
            EXCEPT => text(&self.serving.except, is_exception),
            _ => None,
        }
    }
}

/// The first group that selects no pods, or names what no namespace is called.
fn wrong_group(order: &[Group]) -> Option<String> {
    let at = order.iter().position(|group| !is_right(group))?;
    let name = order[at].namespaces.iter().find(|name| !is_namespace(name));
    let named = name.map_or(String::new(), |name| format!(", with namespace {name:?},"));
    Some(format!("element {}{named} is not", at + 1))
}

fn is_right(group: &Group) -> bool {
    group.is_whole() && group.namespaces.iter().all(|name| is_namespace(name))
}

// The keys that are lists.
const BRANCHES: &str = "branches";
const ALLOWED: &str = "registry.allowed";
const ARCHIVES: &str = "registry.archives";
const ORDER: &str = "drain.order";
const EXCEPT: &str = "serving.except";

fn top(policy: &Policy) -> [Rule; 5] {
    let retry = (1..=3600).contains(&policy.retry_seconds);
    [
        ((1..=10).contains(&policy.trials), "trials", "1 to 10"),
        ((1..=100).contains(&policy.tries), "tries", "1 to 100"),
        (retry, "retry-seconds", "1 to 3600"),
        (policy.skew <= 3, "skew", "0 to 3"),
        (
            policy.branches.iter().all(|pattern| is_pattern(pattern)),
            BRANCHES,
            branches::ACCEPTED,
        ),
    ]
}

fn window(window: &Window) -> [Rule; 1] {
    let possible = window.last_begin.is_possible();
    [(possible, "window.last-begin-minutes", LAST_BEGIN)]
}

fn registry(registry: &Registry) -> [Rule; 3] {
    let signed_by = registry.signed_by.is_empty() || is_remote(&registry.signed_by);
    [
        (
            registry.allowed.iter().all(|place| is_place(place)),
            ALLOWED,
            "hosts, or hosts with the first part of a name, as registry.example.com/os",
        ),
        (
            registry.archives.iter().all(|path| is_folder(path)),
            ARCHIVES,
            "absolute paths without \"..\"",
        ),
        (
            signed_by,
            "registry.signed-by",
            "the name of an OSTree remote",
        ),
    ]
}

/// A trailing slash or a transport prefix would match nothing, without any warning.
fn is_place(text: &str) -> bool {
    !text.is_empty() && !text.ends_with('/') && !text.contains("//")
}

/// A path through `..` is below no folder that is written without it.
fn is_folder(path: &str) -> bool {
    path.starts_with('/') && !path.split('/').any(|part| matches!(part, "." | ".."))
}

fn leaving(hooks: &Hooks, load_balancer: &LoadBalancer) -> [Rule; 2] {
    let seconds = (1..=86_400).contains(&hooks.seconds);
    let wait = load_balancer.wait_seconds <= 3600;
    [
        (seconds, "hooks.seconds", "1 to 86400"),
        (wait, "load-balancer.wait-seconds", "0 to 3600"),
    ]
}

fn neighbours(neighbours: &Neighbours) -> [Rule; 1] {
    let settle = neighbours.settle_seconds <= 86_400;
    [(settle, "neighbours.settle-seconds", "0 to 86400")]
}

fn drain(drain: &Drain) -> [Rule; 4] {
    let deadline = (1..=86_400).contains(&drain.deadline_seconds);
    let force = (1..=3600).contains(&drain.force_seconds);
    [
        (deadline, "drain.deadline-seconds", "1 to 86400"),
        (force, "drain.force-seconds", "1 to 3600"),
        (
            drain.detach_seconds <= 3600,
            "drain.detach-seconds",
            "0 to 3600",
        ),
        (
            drain.order.iter().all(is_right),
            ORDER,
            "groups that name namespaces (as \"kube-system\"), a priority or both, with seconds = 0 to 86400",
        ),
    ]
}

fn kubeadm(kubeadm: &Kubeadm) -> [Rule; 1] {
    let patches = kubeadm.patches.is_empty() || is_folder(&kubeadm.patches);
    [(
        patches,
        "kubeadm.patches",
        "\"\", or an absolute path without \"..\"",
    )]
}

fn control_plane(control_plane: &ControlPlane) -> [Rule; 2] {
    let wait = matches!(control_plane.wait_seconds, 0 | 60..=604_800);
    let kept = (1..=20).contains(&control_plane.snapshots_kept);
    [
        (wait, "control-plane.wait-seconds", "0, or 60 to 604800"),
        (kept, "control-plane.snapshots-kept", "1 to 20"),
    ]
}

fn health(health: &Health) -> [Rule; 6] {
    let soak = health.soak_seconds <= SOAK_MAX;
    let deadline = matches!(health.deadline_seconds, 0 | 30..=86_400);
    let hold = health.api_away_hold_seconds <= 86_400;
    let check = (1..=3600).contains(&health.check_seconds);
    let tries = (1..=100).contains(&health.check_tries);
    [
        (soak, "health.soak-seconds", "0 to 86400"),
        (
            health.steady_seconds <= 3600,
            "health.steady-seconds",
            "0 to 3600",
        ),
        (deadline, "health.deadline-seconds", "0 or 30 to 86400"),
        (hold, "health.api-away-hold-seconds", "0 to 86400"),
        (check, "health.check-seconds", "1 to 3600"),
        (tries, "health.check-tries", "1 to 100"),
    ]
}

fn compared(serving: &Serving) -> [Rule; 1] {
    let known = serving.except.iter().all(|text| is_exception(text));
    [(known, EXCEPT, exception::ACCEPTED)]
}

fn reboot(reboot: &Reboot) -> [Rule; 2] {
    let shutdown = matches!(reboot.shutdown_seconds, 0 | 60..=86_400);
    let initramfs = matches!(reboot.initramfs_seconds, 0 | 30..=3600);
    [
        (shutdown, "reboot.shutdown-seconds", "0, or 60 to 86400"),
        (initramfs, "reboot.initramfs-seconds", "0, or 30 to 3600"),
    ]
}

fn limits(limits: &Limits) -> [Rule; 3] {
    let fetch = matches!(limits.fetch_seconds, 0 | 60..=604_800);
    let lock = (1..=3600).contains(&limits.lock_seconds);
    [
        (limits.io_weight <= 10_000, "limits.io-weight", "0 to 10000"),
        (fetch, "limits.fetch-seconds", "0, or 60 to 604800"),
        (lock, "limits.lock-seconds", "1 to 3600"),
    ]
}
