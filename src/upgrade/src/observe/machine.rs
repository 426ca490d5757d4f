//! The state of this machine.

use super::last_trial::LastTrial;
use crate::cause::Cause;
use crate::image::Deployment;
use crate::reason::Reason;
use crate::version::Version;

/// The file in which libostree notes a staged deployment (ostree-sysroot-private.h,
/// `_OSTREE_SYSROOT_RUNSTATE_STAGED`).
pub const STAGED: &str = "/run/ostree/staged-deployment";

/// What runs on this machine, what it can boot, and what the operator has installed on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The running deployment, identified by device and inode of its root.
    pub booted: Deployment,
    /// The running Kubernetes version, if the image states it.
    pub version: Option<Version>,
    /// `careen.trial=1` is on the kernel command line.
    pub trial: bool,
    /// All deployments, the default first.
    pub deployments: Vec<Deployment>,
    /// The one-shot entry.
    pub one_shot: OneShot,
    /// Whether the boot loader supports a one-shot entry.
    pub loader: Result<(), Reason>,
    /// Whether a hardware watchdog would end a trial that hangs before any of our software runs.
    /// Checked where requests are accepted.
    pub watchdog: Result<(), Reason>,
    /// Whether all changes that a trial made to the old system's kubelet state are undone.
    pub restored: Result<(), Reason>,
    /// Whether every required check of the operator may run, and only root decides where images
    /// come from.
    pub checks: Result<(), Reason>,
    /// What a person has changed in the running deployment itself, and no other image has.
    pub local_changes: Vec<String>,
    /// What shows that this node runs a control plane; nothing on a worker.
    pub control_plane: Option<ControlPlaneSeen>,
    /// The architecture, as `uname -m` prints it.
    pub architecture: String,
    /// /etc has changed since it was copied for the new system.
    pub etc_stale: bool,
    /// The entry of /etc that changed last, if /etc has changed: for a person.
    pub etc_changed: Option<String>,
    /// Whether another program has staged a system that the next shutdown makes the default.
    /// Checked when a trial may be next.
    pub staged: bool,
    /// The operator's hooks that are installed.
    pub hooks: Hooks,
    /// What is left of the last trial; only the old system looks, after a trial without a verdict.
    pub last_trial: LastTrial,
    /// What the stage found when it checked the new system's critical files; only the stage checks
    /// them.
    pub integrity: Option<Result<(), Unsound>>,
}

/// A node that runs a control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlPlaneSeen {
    /// What shows it: the path of a manifest.
    pub sign: String,
    /// Whether all deployments share one /etc/kubernetes.
    pub shared: Result<(), Reason>,
}

/// Why the stage does not let the new system boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsound {
    /// What it found.
    pub detail: String,
    /// Where the cause is.
    pub cause: Cause,
}

impl Unsound {
    /// Files differ from those that were deployed, or cannot be read. The deployment compared them
    /// with the image, so this node's disk, or somebody on this node, has changed them since.
    #[must_use]
    pub const fn of_the_disk(detail: String) -> Self {
        let cause = Cause::Node;
        Self { detail, cause }
    }

    /// The image's initramfs has not prepared the root that it should.
    #[must_use]
    pub const fn of_the_initramfs(detail: String) -> Self {
        let cause = Cause::Image;
        Self { detail, cause }
    }
}

/// GRUB's one-shot entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneShot {
    /// No entry is set.
    Clear,
    /// An entry is set; whichever it is, it boots next.
    Set,
    /// grubenv cannot be read or is damaged, so GRUB boots the default.
    Unreadable,
}

/// Which hooks are installed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// Hooks to run before the node is taken from its users.
    pub pre: bool,
    /// Hooks to run before the node is given back.
    pub post: bool,
}

impl Machine {
    /// A machine in its normal state: this deployment runs and is the only one.
    #[must_use]
    pub fn quiet(booted: Deployment) -> Self {
        Self {
            deployments: vec![booted.clone()],
            booted,
            version: None,
            trial: false,
            one_shot: OneShot::Clear,
            loader: Ok(()),
            watchdog: Ok(()),
            restored: Ok(()),
            checks: Ok(()),
            local_changes: Vec::new(),
            control_plane: None,
            architecture: "x86_64".to_owned(),
            etc_stale: false,
            etc_changed: None,
            staged: false,
            hooks: Hooks::default(),
            last_trial: LastTrial::default(),
            integrity: None,
        }
    }

    /// Whether the running system is on trial: booted by the one-shot entry and not the default
    /// (yet). The kernel argument alone is not enough, because it stays on the command line after
    /// the system was blessed.
    #[must_use]
    pub fn on_trial(&self) -> bool {
        self.trial && !self.runs_default()
    }

    /// Whether the running system is the default: the one that boots if nothing is armed.
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

    /// Whether the default is pinned, by any program: no clean-up removes what a trial falls back
    /// to.
    #[must_use]
    pub fn default_is_pinned(&self) -> bool {
        self.deployments
            .first()
            .is_some_and(|default| default.pinned)
    }

    /// The former system that Careen keeps beside the running one: the first pinned one in the boot
    /// menu, where blessing puts it. A deployment that another program pinned does not belong to
    /// Careen, and was never judged.
    #[must_use]
    pub fn kept(&self) -> Option<&Deployment> {
        self.deployments.iter().find(|one| {
            one.kept && one.stateroot == self.booted.stateroot && !one.same(&self.booted)
        })
    }

    /// Why no trial is possible with the current default.
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
