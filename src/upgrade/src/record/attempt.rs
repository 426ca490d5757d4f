//! What the record keeps about the trials of one upgrade.

use crate::id::{BootId, Moment};
use crate::observe::TrialEnd;
use crate::reason::Reason;

/// The rehearsal of the drain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rehearsal {
    /// It has not run yet.
    Due,
    /// It has run.
    Held {
        /// What blocks the drain, if anything.
        blocked: Option<Reason>,
    },
}

/// The current trial, armed or running, or the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Trial boots so far. A boot is counted before control passes to the new system.
    pub tries: u32,
    /// The kubelet's state is saved for the next trial.
    pub saved: bool,
    /// The deadline for the verdict on the trial, in seconds since boot. The deadman enforces it.
    pub deadline_seconds: u64,
    /// The boot in which the stage let the new system through.
    pub guarded: Option<BootId>,
    /// Until when the agent asks the deadman to wait.
    pub hold: Option<Moment>,
    /// Since when the new system is healthy without a break. Set only where it must be so for
    /// some time.
    pub well_since: Option<Moment>,
    /// Why the trial was aborted, where the new system is not to blame.
    pub given_up: Option<Reason>,
    /// What ended a trial without a verdict, where something shows it.
    pub ended_by: Option<TrialEnd>,
    /// Whether something other than Careen made the new system the default.
    pub default: NewDefault,
    /// Whether `kubeadm upgrade node` has run.
    pub kubeadm: Kubeadm,
}

/// Whether something made the new system the default before Careen did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewDefault {
    /// The default did not move.
    NotMoved,
    /// Something other than Careen made it the default during the trial.
    Moved {
        /// The boot in which Careen last made the old system the default again. Written before that
        /// step begins, once per boot.
        reinstated: Option<BootId>,
    },
}

/// Whether `kubeadm upgrade node` has run in the new system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kubeadm {
    /// It must run before the node is released: it did not succeed before the new system was found
    /// healthy, or another boot intervened.
    pub due: bool,
    /// The boot in which it succeeded.
    pub configured: Option<BootId>,
}

/// Which system has reached the API server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiSeen {
    /// The old system has, in this upgrade. Released agents did not write it: call
    /// [`super::Upgrade::old_has_reached_api`].
    pub from_old: bool,
    /// The last boot in which the new system has.
    pub from_new: Option<BootId>,
    /// The old system has, since the last trial that ended without the API server.
    pub compared: bool,
}

/// What was repeated before the next trial. The counts bound the repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Redo {
    /// The deployment is being repeated. Until that ends, the former deployment may still be on the
    /// disk, whatever the note about /etc says.
    pub deploying: bool,
    /// How often the deployment was repeated since the last trial.
    pub deployed: u32,
    /// How often the node was drained again since the last trial, because its cordon was removed.
    pub drained: u32,
}

impl Attempt {
    /// No trial yet.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            tries: 0,
            saved: false,
            deadline_seconds: 0,
            guarded: None,
            hold: None,
            well_since: None,
            given_up: None,
            ended_by: None,
            default: NewDefault::NotMoved,
            kubeadm: Kubeadm {
                due: false,
                configured: None,
            },
        }
    }

    /// Arms another trial.
    pub fn arm(&mut self, deadline_seconds: u64) {
        self.tries = self.tries.saturating_add(1);
        self.deadline_seconds = deadline_seconds;
        (self.guarded, self.hold, self.well_since) = (None, None, None);
        (self.given_up, self.default) = (None, NewDefault::NotMoved);
    }
}

impl NewDefault {
    /// Whether something other than Careen moved the default.
    #[must_use]
    pub const fn is_moved(&self) -> bool {
        matches!(self, Self::Moved { .. })
    }

    /// The boot in which Careen last made the old system the default again.
    #[must_use]
    pub const fn reinstated(&self) -> Option<&BootId> {
        match self {
            Self::NotMoved => None,
            Self::Moved { reinstated } => reinstated.as_ref(),
        }
    }

    /// Notes that something other than Careen moved the default.
    pub fn note_moved(&mut self) {
        if !self.is_moved() {
            *self = Self::Moved { reinstated: None };
        }
    }

    /// Notes that Careen is about to make the old system the default again in this boot.
    pub fn note_reinstating(&mut self, boot: BootId) {
        *self = Self::Moved {
            reinstated: Some(boot),
        };
    }
}

impl Kubeadm {
    /// Notes that `kubeadm upgrade node` wrote the new kubelet's configuration in this boot.
    pub fn configure(&mut self, boot: BootId) {
        (self.due, self.configured) = (false, Some(boot));
    }
}

impl Rehearsal {
    /// What blocks the drain, as far as the rehearsal has run.
    #[must_use]
    pub const fn blocked(&self) -> Option<&Reason> {
        match self {
            Self::Due => None,
            Self::Held { blocked } => blocked.as_ref(),
        }
    }
}
