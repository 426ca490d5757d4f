//! What is seen: facts of this moment, gathered by the hands and handed to the brain.

use std::fmt;

use crate::id::{BootId, SinceBoot};
use crate::image::Deployment;
use crate::keys::{Pause, Stray};
use crate::reason::Reason;
use crate::step::{Finished, Home, Step};
use crate::target::RawRequest;
use crate::version::Version;

/// What libostree notes a staged deployment by (ostree-sysroot-private.h, `_OSTREE_SYSROOT_RUNSTATE_STAGED`).
pub const STAGED: &str = "/run/ostree/staged-deployment";

/// The state of the world as one home sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Who looks.
    pub home: Home,
    /// Since this boot.
    pub now: SinceBoot,
    /// When whoever looks was started.
    pub started: SinceBoot,
    /// Seconds since 1970: for display, and for the hours in which the operator lets upgrades begin. Nothing else is decided by
    /// it, for an initramfs may have no clock.
    pub wall: u64,
    /// This boot.
    pub boot: BootId,
    /// The deployment that runs, by device and inode of its root.
    pub booted: Deployment,
    /// The Kubernetes version that runs, as far as the image says.
    pub version: Option<Version>,
    /// `careen.trial=1` is on the kernel command line.
    pub trial: bool,
    /// All deployments, the default first.
    pub deployments: Vec<Deployment>,
    /// The one-shot entry.
    pub one_shot: OneShot,
    /// Whether the boot loader can do a one-shot at all.
    pub loader: Result<(), Reason>,
    /// Whether a hardware watchdog would end a trial that hangs before any software of ours runs; asked where requests are taken.
    pub watchdog: Result<(), Reason>,
    /// Whether the old system has got back all of the kubelet's state that a trial has changed.
    pub restored: Result<(), Reason>,
    /// Whether every required check of the operator's may be run, and root alone decides whose images come.
    pub checks: Result<(), Reason>,
    /// A sign that this node runs a control plane.
    pub control_plane: Option<String>,
    /// This machine, as `uname -m` says it.
    pub machine: String,
    /// /etc was changed after the new system's copy of it was made.
    pub etc_stale: bool,
    /// Whether somebody has staged a system that the next shutdown makes the default. Looked at where a trial may be next.
    pub staged: bool,
    /// What our Node is called, once it was seen.
    pub node: Option<String>,
    /// The requester's annotations.
    pub request: Asked,
    /// Why nothing new is begun.
    pub paused: Option<Pause>,
    /// The value of the annotation that takes the node out of all upgrades.
    pub opted_out: Option<String>,
    /// The keys on the Node that are nearly ours.
    pub strays: Vec<Stray>,
    /// Pods may come to the Node. Once it was drained: somebody has taken the cordon off, ours or the one that was there before.
    pub uncordoned: bool,
    /// The Node is cordoned, and the mark beside that is of the upgrade that the record speaks of.
    pub own_cordon: bool,
    /// Load balancers are told to leave the Node out, and the mark beside that is of the upgrade that the record speaks of.
    pub own_exclusion: bool,
    /// A mark of ours is on the Node without the cordon or the label that it marked: somebody took that off, or has set their own
    /// in its place. A mark that stays makes the next cordon, whoever sets it, look like ours.
    pub stale_mark: bool,
    /// The operator's hooks that are there.
    pub hooks: Hooks,
    /// The API server.
    pub api: Api,
    /// What this node itself lacks of a way to the API server; looked at in a trial alone.
    pub network: Result<(), NoNetwork>,
    /// The step that is being performed.
    pub running: Option<Step>,
    /// The step that has just ended; seen once.
    pub finished: Option<Finished>,
    /// The health of a trial.
    pub health: Health,
    /// What the stage found of the new system's critical files; the stage alone looks.
    pub integrity: Option<Result<(), String>>,
}

/// GRUB's one-shot entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneShot {
    /// None is set.
    Clear,
    /// One is set; whichever it is, it is the next boot.
    Set,
    /// grubenv cannot be read or is damaged: GRUB then boots the default.
    Unreadable,
}

/// What the requester asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Not known: the API server has not been reached in this life of the agent.
    Unknown,
    /// Nothing.
    Nothing,
    /// This.
    This(RawRequest),
}

/// Whether there are any hooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// To be run before a node is taken from its users.
    pub pre: bool,
    /// To be run before it is given back.
    pub post: bool,
}

/// The API server as seen from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Api {
    /// Not reached.
    Away,
    /// Reached.
    Reached {
        /// Since when without a break, in this boot.
        since: SinceBoot,
        /// Its version, once asked.
        version: Option<Version>,
    },
}

/// What a node lacks of a way to the API server. Each is a fault of this node or of its network,
/// and none is an API server that is away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoNetwork {
    /// The device that leads there is down or has no carrier.
    Carrier {
        /// The device.
        device: String,
    },
    /// No device has an address from which that can be reached.
    Address {
        /// The address that is to be reached.
        to: String,
    },
    /// No route leads there.
    Route {
        /// The address that is to be reached.
        to: String,
    },
    /// The API server has a name, and no resolver answers.
    Resolver {
        /// The name.
        name: String,
    },
}

impl fmt::Display for NoNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Carrier { device } => {
                write!(f, "network device {device} is down or has no carrier")
            }
            Self::Address { to } => write!(f, "no network device has an address that reaches {to}"),
            Self::Route { to } => write!(f, "no route leads to {to}"),
            Self::Resolver { name } => write!(f, "no resolver answers for {name}"),
        }
    }
}

/// One health check. "Could not check" is never "bad".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// It holds.
    Pass,
    /// Not yet known, or not yet done.
    Pending(String),
    /// It does not hold now; it may yet.
    Fail(String),
    /// It does not hold and is not going to.
    Broken(String),
}

/// The health of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The container runtime answers.
    pub runtime: Check,
    /// The kubelet's healthz answers.
    pub kubelet: Check,
    /// The kubelet's client certificate has not run out by this machine's clock; fails only when that was seen. Looked at while the
    /// kubelet is not healthy.
    pub credential: Check,
    /// `kubeadm upgrade node` has succeeded for this upgrade. Needs the API server.
    pub kubeadm: Check,
    /// The Node is Ready with this boot's id. Needs the API server.
    pub ready: Check,
    /// The Node's kubeletVersion is the image's. Needs the API server.
    pub version: Check,
    /// Checks of `required.d`, by file name.
    pub required: Vec<(String, Check)>,
}

impl Observation {
    /// Whether the running system is on trial: booted by one-shot and not (yet) the default. The argument alone is not
    /// enough, for it stays on the command line after the system was blessed.
    #[must_use]
    pub fn on_trial(&self) -> bool {
        self.trial && !self.runs_default()
    }

    /// Whether the running system is the default: what a reboot leads to when nothing is armed.
    #[must_use]
    pub fn runs_default(&self) -> bool {
        self.default_is(&self.booted)
    }

    /// Whether this deployment is the default.
    #[must_use]
    pub fn default_is(&self, deployment: &Deployment) -> bool {
        self.deployments
            .first()
            .is_some_and(|default| default.same(deployment))
    }

    /// Whether the default is pinned, by whomever: no clean-up takes what a trial falls back to.
    #[must_use]
    pub fn default_is_pinned(&self) -> bool {
        self.deployments
            .first()
            .is_some_and(|default| default.pinned)
    }

    /// The former system that Careen keeps beside the running one: the first such in the boot menu, where the blessing puts it.
    /// What somebody else has pinned is none of Careen's, and nobody has judged it.
    #[must_use]
    pub fn kept(&self) -> Option<&Deployment> {
        self.deployments.iter().find(|one| {
            one.kept && one.stateroot == self.booted.stateroot && !one.same(&self.booted)
        })
    }

    /// Why nothing may be tried with the default as it is.
    #[must_use]
    pub fn foreign_default(&self) -> Reason {
        let found = self.deployments.first();
        let default = match (self.staged, found) {
            (true, _) => format!("a staged deployment, from the next shutdown on ({STAGED})"),
            (false, Some(found)) => found.digest.short().to_owned(),
            (false, None) => "none".to_owned(),
        };
        Reason::ForeignDefault { default }
    }
}

impl Health {
    /// Nothing is known yet.
    #[must_use]
    pub fn unknown() -> Self {
        let pending = || Check::Pending("not checked yet".to_owned());
        Self {
            runtime: pending(),
            kubelet: pending(),
            credential: pending(),
            kubeadm: pending(),
            ready: pending(),
            version: pending(),
            required: Vec::new(),
        }
    }
}
