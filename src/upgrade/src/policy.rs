//! What the operator of this node allows: data with defaults, parsed from TOML by the agent.
//!
//! Every limit says its unit in its name. Budgets count boots and tries; deadlines count seconds of one boot.

mod branches;
mod rules;

use serde::{Deserialize, Serialize};

use crate::listen::Listen;
use crate::order::Group;
use crate::reason::Reason;
use crate::window::Window;

/// The longest soak, in seconds.
pub const SOAK_MAX: u64 = 86_400;

/// The policy file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Policy {
    /// Why this node takes no request; empty where it takes them.
    pub opt_out: String,
    /// Remotes that may be used; empty allows every configured one.
    pub remotes: Vec<String>,
    /// Patterns of the branches whose images may be used; empty allows every one.
    pub branches: Vec<String>,
    /// Let a requester go back to the system that this node has kept.
    pub rollback: bool,
    /// Let images through that are not signed.
    pub unsigned: bool,
    /// Let images through whose initramfs has no stage of ours.
    pub unguarded: bool,
    /// Let images through that carry an older Kubernetes, or were made before the one that runs.
    pub downgrade: bool,
    /// Refuse every request on a node without a hardware watchdog that runs on across a reboot.
    pub require_watchdog: bool,
    /// How many minor versions a kubelet may be behind the API server.
    pub skew: u32,
    /// Trial boots of one request before it fails for want of a verdict.
    pub trials: u32,
    /// Tries of a step that may be retried.
    pub tries: u32,
    /// Pause before the first retry, doubled for each further one, in seconds.
    pub retry_seconds: u64,
    /// When upgrades may begin.
    pub window: Window,
    /// The operator's own programs before and after.
    pub hooks: Hooks,
    /// Being left out by load balancers before the drain.
    pub load_balancer: LoadBalancer,
    /// Container images.
    pub registry: Registry,
    /// Draining.
    pub drain: Drain,
    /// Judging a trial.
    pub health: Health,
    /// Limits of careen-deploy.
    pub limits: Limits,
    /// Being watched.
    pub metrics: Metrics,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            opt_out: String::new(),
            remotes: Vec::new(),
            branches: Vec::new(),
            rollback: true,
            unsigned: false,
            unguarded: false,
            downgrade: false,
            require_watchdog: false,
            // kubernetes.io/releases/version-skew-policy: up to three minor versions older.
            skew: 3,
            trials: 2,
            tries: 5,
            retry_seconds: 10,
            window: Window::default(),
            hooks: Hooks::default(),
            load_balancer: LoadBalancer::default(),
            registry: Registry::default(),
            drain: Drain::default(),
            health: Health::default(),
            limits: Limits::default(),
            metrics: Metrics::default(),
        }
    }
}

/// Hooks: programs of pre.d and post.d.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hooks {
    /// Time limit of one hook, in seconds.
    pub seconds: u64,
}

impl Default for Hooks {
    fn default() -> Self {
        Self { seconds: 60 }
    }
}

/// Being left out by external load balancers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LoadBalancer {
    /// Ask for it before the drain.
    pub exclude: bool,
    /// From asking to the drain: load balancers hear of it with a delay, and end what is open with another.
    pub wait_seconds: u64,
}

impl Default for LoadBalancer {
    fn default() -> Self {
        Self {
            exclude: false,
            wait_seconds: 30,
        }
    }
}

/// Container images.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Registry {
    /// Registries, or names below them, that may be used; empty allows none.
    pub allowed: Vec<String>,
    /// The OSTree remote whose keyring must have signed the commit inside; empty leaves signatures to the node's containers-policy.json.
    pub signed_by: String,
    /// Folders from which archives may be taken; empty allows none.
    pub archives: Vec<String>,
}

/// Draining.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Drain {
    /// How long a drain may take, in seconds.
    pub deadline_seconds: u64,
    /// What to do then.
    pub at_deadline: AtDeadline,
    /// Cordon, and leave the pods where they are: for nodes whose workload bears a reboot under it.
    pub skip: bool,
    /// Pods that leave after all others, group by group.
    pub order: Vec<Group>,
}

impl Default for Drain {
    fn default() -> Self {
        Self {
            deadline_seconds: 600,
            at_deadline: AtDeadline::Abort,
            skip: false,
            order: Vec::new(),
        }
    }
}

/// What to do when a drain has not ended in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AtDeadline {
    /// Uncordon and fail.
    Abort,
    /// Delete what is left, past its budgets.
    Force,
    /// Reboot with the pods that are left.
    Continue,
}

/// Judging a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Health {
    /// Seconds since boot in which a trial must be healthy.
    pub deadline_seconds: u64,
    /// Seconds that a trial waits longer when only the API server is missing.
    pub api_away_hold_seconds: u64,
    /// Bless on local checks when the API server was reached in the trial and is away at the
    /// deadline.
    pub bless_without_api: bool,
    /// Seconds in which a trial must be healthy without a break before it is blessed.
    pub soak_seconds: u64,
    /// Time limit of one user check, in seconds.
    pub check_seconds: u64,
    /// How often a failing required check is run before it counts.
    pub check_tries: u32,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            deadline_seconds: 600,
            api_away_hold_seconds: 900,
            bless_without_api: false,
            soak_seconds: 0,
            check_seconds: 60,
            check_tries: 3,
        }
    }
}

/// Limits of careen-deploy's unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limits {
    /// Percent of one processor; 0 is no limit.
    pub cpu_percent: u32,
    /// systemd's IOWeight, 1 to 10000; 0 leaves the default.
    pub io_weight: u32,
    /// Hard limit of memory while fetching and verifying, soft limit otherwise, in MiB; 0 is no limit.
    pub memory_mib: u64,
    /// Bytes fetched per second; 0 is no limit.
    pub bandwidth_bytes: u64,
    /// Seconds that one try to fetch may take; 0 is no limit.
    pub fetch_seconds: u64,
    /// Seconds to wait for the sysroot lock.
    pub lock_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cpu_percent: 0,
            io_weight: 20,
            memory_mib: 512,
            bandwidth_bytes: 0,
            // 1 GiB at 2.4 Mbit/s; over a thinner line the next try takes up what came.
            fetch_seconds: 3600,
            lock_seconds: 60,
        }
    }
}

/// Being watched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Metrics {
    /// Where Prometheus' metrics are served.
    pub listen: Listen,
}

/// What was read of the policy file: the policy in force, or why nothing new is begun.
pub type PolicyRead = Result<Policy, Broken>;

/// A policy file that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Why.
    pub reason: Reason,
    /// The last one that was not: what is under way goes on with it.
    pub last: Box<Policy>,
}

impl From<Reason> for Broken {
    /// One behind which there is none that held.
    fn from(reason: Reason) -> Self {
        Self {
            reason,
            last: Box::default(),
        }
    }
}

impl From<Broken> for Reason {
    fn from(broken: Broken) -> Self {
        broken.reason
    }
}

/// The policy that what is under way goes on with.
#[must_use]
pub fn in_force(read: &PolicyRead) -> &Policy {
    match read {
        Ok(policy) => policy,
        Err(broken) => &broken.last,
    }
}
