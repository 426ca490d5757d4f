//! What the operator of this node allows: values with defaults, which the agent parses from TOML.
//!
//! The name of every limit includes its unit. Budgets count boots and attempts; deadlines count
//! seconds of one boot.

mod branches;
mod demand;
mod exception;
pub mod keys;
pub mod misnamed;
mod namespace;
mod outside;
mod rules;
mod serving;

pub use outside::Outside;
use serde::{Deserialize, Serialize};

use crate::drain_order::Group;
use crate::listen::Listen;
use crate::reason::Reason;
use crate::window::Window;

pub use demand::Demand;
pub use serving::Serving;

pub use crate::target::request::SOAK_MAX;

/// The policy file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Policy {
    /// Why this node takes no requests; empty if it takes them.
    pub opt_out: String,
    /// Remotes that may be used; if empty, every configured one.
    pub remotes: Vec<String>,
    /// Patterns of the branches whose images may be used; if empty, all branches.
    pub branches: Vec<String>,
    /// Whether the node may go to another branch than that of the running system.
    pub branch_change: BranchChange,
    /// Allow requests for the system that this node has kept.
    pub rollback: bool,
    /// Allow images that are not signed.
    pub unsigned: bool,
    /// Allow images whose initramfs does not contain our stage.
    pub unguarded: bool,
    /// Allow images with an older Kubernetes, or images of the running system's branch that were
    /// made before it.
    pub downgrade: bool,
    /// Refuse every request on a node without a hardware watchdog that keeps running across a
    /// reboot.
    pub require_watchdog: bool,
    /// What to do about packages and other changes of the running deployment itself.
    pub local_changes: LocalChanges,
    /// How many minor versions a kubelet may be behind the API server.
    pub skew: u32,
    /// Trial boots per request before it fails without a verdict.
    pub trials: u32,
    /// Attempts per step that may be retried.
    pub tries: u32,
    /// Pause before the first retry, in seconds; doubled for each further one.
    pub retry_seconds: u64,
    /// When upgrades may begin.
    pub window: Window,
    /// The operator's own programs that run before and after.
    pub hooks: Hooks,
    /// Exclusion from load balancers before the drain.
    pub load_balancer: LoadBalancer,
    /// Container images.
    pub registry: Registry,
    /// What keeps other programs off the node while it is away.
    pub neighbours: Neighbours,
    /// The drain.
    pub drain: Drain,
    /// `kubeadm upgrade node`, and what it does to the node's own settings.
    pub kubeadm: Kubeadm,
    /// Control planes.
    pub control_plane: ControlPlane,
    /// Judging a trial.
    pub health: Health,
    /// What a trial is compared with.
    pub serving: Serving,
    /// The way into a trial.
    pub reboot: Reboot,
    /// Resource limits of careen-deploy.
    pub limits: Limits,
    /// Metrics.
    pub metrics: Metrics,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            opt_out: String::new(),
            remotes: Vec::new(),
            branches: Vec::new(),
            branch_change: BranchChange::Newer,
            rollback: true,
            unsigned: false,
            unguarded: false,
            downgrade: false,
            require_watchdog: false,
            local_changes: LocalChanges::Refuse,
            // kubernetes.io/releases/version-skew-policy allows up to three minor versions older.
            skew: 3,
            trials: 2,
            tries: 5,
            retry_seconds: 10,
            window: Window::default(),
            hooks: Hooks::default(),
            load_balancer: LoadBalancer::default(),
            registry: Registry::default(),
            neighbours: Neighbours::default(),
            drain: Drain::default(),
            kubeadm: Kubeadm::default(),
            control_plane: ControlPlane::default(),
            health: Health::default(),
            serving: Serving::default(),
            reboot: Reboot::default(),
            limits: Limits::default(),
            metrics: Metrics::default(),
        }
    }
}

/// Whether a node may go to another branch. Times order the images of one branch; between two
/// branches they say little. So this is a permission apart from the one to go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BranchChange {
    /// Only to an image that was made after the running one.
    Newer,
    /// Also to an image that was made before the running one.
    Any,
    /// Not at all.
    Never,
}

impl BranchChange {
    /// The value in the policy.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Newer => "newer",
            Self::Any => "any",
            Self::Never => "never",
        }
    }
}

/// What to do about changes of the running deployment that another image does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LocalChanges {
    /// Refuse the upgrade, and name them.
    Refuse,
    /// Go without them.
    Drop,
}

/// Hooks: the programs in pre.d and post.d.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hooks {
    /// Timeout of one hook, in seconds.
    pub seconds: u64,
}

impl Default for Hooks {
    fn default() -> Self {
        Self { seconds: 60 }
    }
}

/// Exclusion from external load balancers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LoadBalancer {
    /// Ask for the exclusion before the drain.
    pub exclude: bool,
    /// Seconds between asking and the drain. Load balancers notice the exclusion late, and take
    /// more time to close open connections.
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

/// Programs that would take a planned absence for idleness or for death. Each switch is for the key
/// that such a program respects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Neighbours {
    /// Keep cluster-autoscaler off.
    pub cluster_autoscaler: bool,
    /// Keep Karpenter off.
    pub karpenter: bool,
    /// Keep the remediators of medik8s off.
    pub medik8s: bool,
    /// Seconds for which the keys stay after the node was given back.
    pub settle_seconds: u64,
}

impl Default for Neighbours {
    fn default() -> Self {
        Self {
            cluster_autoscaler: true,
            karpenter: true,
            medik8s: true,
            // Pods need some minutes to come back. cluster-autoscaler begins its own 10 minutes
            // (scale-down-unneeded-time) only when its key is gone, and a NodeHealthCheck acts on
            // 300 s of NotReady (the default of its unhealthyConditions).
            settle_seconds: 300,
        }
    }
}

/// Container images.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Registry {
    /// Registries, or names below them, that may be used; if empty, none.
    pub allowed: Vec<String>,
    /// The OSTree remote whose keyring must have signed the commit in the image. If empty, the
    /// node's containers-policy.json decides on signatures.
    pub signed_by: String,
    /// Folders from which archives may be used; if empty, none.
    pub archives: Vec<String>,
}

/// The drain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Drain {
    /// Timeout of the drain, in seconds.
    pub deadline_seconds: u64,
    /// What to do at the deadline.
    pub at_deadline: AtDeadline,
    /// The longest grace period of a pod that is deleted at the deadline, in seconds.
    pub force_seconds: u64,
    /// How long the volumes of the pods that left may take to detach, in seconds; 0 does not wait.
    pub detach_seconds: u64,
    /// Cordon, but leave the pods where they are: for nodes whose workload tolerates a reboot.
    pub skip: bool,
    /// Pods that leave after all others, group by group.
    pub order: Vec<Group>,
}

impl Default for Drain {
    fn default() -> Self {
        Self {
            deadline_seconds: 600,
            at_deadline: AtDeadline::Abort,
            // Longer than what most pods ask for, which is 30 s.
            force_seconds: 300,
            detach_seconds: 120,
            skip: false,
            order: Vec::new(),
        }
    }
}

/// What to do if a drain has not ended at its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AtDeadline {
    /// Uncordon and fail.
    Abort,
    /// Delete the remaining pods, ignoring their PodDisruptionBudgets.
    Force,
    /// Reboot with the remaining pods on the node.
    Continue,
}

/// The folder of kubeadm's patches, where it exists.
pub const PATCHES: &str = "/etc/kubernetes/patches";

/// `kubeadm upgrade node`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Kubeadm {
    /// The folder of the node's patches; empty if there is none. It must exist, except for
    /// [`PATCHES`].
    pub patches: String,
    /// What to do about settings of the kubelet that kubeadm would undo.
    pub local_settings: LocalSettings,
}

impl Default for Kubeadm {
    fn default() -> Self {
        Self {
            patches: PATCHES.to_owned(),
            local_settings: LocalSettings::Refuse,
        }
    }
}

/// Control planes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ControlPlane {
    /// Allow upgrades of a node that runs a control plane.
    pub enabled: bool,
    /// What to do where this node is the only one of the control plane.
    pub single_node: SingleNode,
    /// What to do where etcd is not of kubeadm's, so that nothing here saves it.
    pub external_etcd: ExternalEtcd,
    /// How long one wait for the control plane may last, in seconds; 0 is no limit.
    pub wait_seconds: u64,
    /// How many snapshots of etcd stay on this node, the newest one too.
    pub snapshots_kept: u64,
    /// Remove kubeadm's copies of etcd that are older than each snapshot that stays.
    pub prune_kubeadm_backups: bool,
}

impl Default for ControlPlane {
    fn default() -> Self {
        Self {
            enabled: false,
            single_node: SingleNode::default(),
            external_etcd: ExternalEtcd::default(),
            wait_seconds: 0,
            snapshots_kept: 2,
            prune_kubeadm_backups: true,
        }
    }
}

/// What to do where the cluster is away with its only control-plane node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SingleNode {
    /// Upgrade it when somebody asks for that.
    #[default]
    Allow,
    /// Refuse every request.
    Refuse,
}

/// What to do where etcd is external.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExternalEtcd {
    /// Upgrade the node. The operator of etcd saves it.
    #[default]
    Allow,
    /// Refuse every request.
    Refuse,
}

/// What to do about settings that are only in the kubelet's configuration on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LocalSettings {
    /// Refuse the upgrade, and name them.
    Refuse,
    /// Let kubeadm undo them.
    Drop,
}

/// Judging a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Health {
    /// Seconds since boot within which a trial must be healthy. 0: as [`crate::limits::trial`] has
    /// it.
    pub deadline_seconds: u64,
    /// Seconds that a trial waits longer if only the API server is missing.
    pub api_away_hold_seconds: u64,
    /// Bless on local checks if the API server was reached in the trial and is unreachable at the
    /// deadline.
    pub bless_without_api: bool,
    /// Seconds for which a trial must be healthy without a break before it is blessed.
    pub soak_seconds: u64,
    /// The same at least, without a word on the Node: a system that crashes again and again passes
    /// every check for a moment.
    pub steady_seconds: u64,
    /// Timeout of one user check, in seconds.
    pub check_seconds: u64,
    /// How often a failing required check is run before it counts as failed.
    pub check_tries: u32,
    /// Whether the runtime must start a new pod sandbox.
    pub sandbox: Demand,
    /// Whether the operator's required checks must pass on the old system before the drain.
    pub rehearse: Demand,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            deadline_seconds: 0,
            api_away_hold_seconds: 900,
            bless_without_api: false,
            soak_seconds: 0,
            steady_seconds: 30,
            check_seconds: 60,
            check_tries: 3,
            sandbox: Demand::Require,
            rehearse: Demand::Require,
        }
    }
}

/// The way into a trial: limits that this machine's own past decides where they are 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reboot {
    /// How long a shutdown that has begun may take, in seconds.
    pub shutdown_seconds: u64,
    /// How long a trial's initramfs waits for its devices, in seconds.
    pub initramfs_seconds: u64,
}

/// Resource limits of careen-deploy's unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limits {
    /// Percent of one processor; 0 is no limit.
    pub cpu_percent: u32,
    /// systemd's IOWeight, 1 to 10000; 0 leaves the default.
    pub io_weight: u32,
    /// Memory in MiB: a hard limit while fetching and verifying, a soft limit otherwise; 0 is no
    /// limit.
    pub memory_mib: u64,
    /// Bytes fetched per second; 0 is no limit.
    pub bandwidth_bytes: u64,
    /// Timeout of one attempt to fetch, in seconds; 0 is no limit.
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
            // 1 GiB at 2.4 Mbit/s; on a slower line the next attempt resumes the download.
            fetch_seconds: 3600,
            lock_seconds: 60,
        }
    }
}

/// Metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Metrics {
    /// Where Prometheus metrics are served.
    pub listen: Listen,
}

/// The result of reading the policy file: the policy in force, or why nothing new begins.
pub type PolicyRead = Result<Policy, Broken>;

/// A policy file that was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Why.
    pub reason: Reason,
    /// The last valid policy; an upgrade under way continues with it.
    pub last: Box<Policy>,
}

impl From<Reason> for Broken {
    /// A rejected file without an earlier valid policy.
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

/// The policy that an upgrade under way continues with.
#[must_use]
pub fn in_force(read: &PolicyRead) -> &Policy {
    match read {
        Ok(policy) => policy,
        Err(broken) => &broken.last,
    }
}
