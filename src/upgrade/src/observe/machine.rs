//! What this machine shows.

use crate::image::Deployment;
use crate::reason::Reason;
use crate::version::Version;

/// What libostree notes a staged deployment by (ostree-sysroot-private.h,
/// `_OSTREE_SYSROOT_RUNSTATE_STAGED`).
pub const STAGED: &str = "/run/ostree/staged-deployment";

/// What runs on this machine, what it can boot, and what the operator has put on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
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
    /// Whether a hardware watchdog would end a trial that hangs before any software of ours runs;
    /// asked where requests are taken.
    pub watchdog: Result<(), Reason>,
    /// Whether the old system has got back all of the kubelet's state that a trial has changed.
    pub restored: Result<(), Reason>,
    /// Whether every required check of the operator's may be run, and root alone decides whose
    /// images come.
    pub checks: Result<(), Reason>,
    /// A sign that this node runs a control plane.
    pub control_plane: Option<String>,
    /// The architecture, as `uname -m` prints it.
    pub architecture: String,
    /// /etc was changed after the new system's copy of it was made.
    pub etc_stale: bool,
    /// Whether somebody has staged a system that the next shutdown makes the default. Looked at
    /// where a trial may be next.
    pub staged: bool,
    /// The operator's hooks that are there.
    pub hooks: Hooks,
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

/// Whether there are any hooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// To be run before a node is taken from its users.
    pub pre: bool,
    /// To be run before it is given back.
    pub post: bool,
}

impl Machine {
    /// A machine on which nothing is remarkable: this deployment runs, and is the only one.
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
            control_plane: None,
            architecture: "x86_64".to_owned(),
            etc_stale: false,
            staged: false,
            hooks: Hooks::default(),
            integrity: None,
        }
    }

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
