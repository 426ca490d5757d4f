//! What is remembered of the trials of one upgrade.

use crate::id::{BootId, Moment};
use crate::reason::Reason;

/// The rehearsal of the drain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rehearsal {
    /// It has not run yet.
    Due,
    /// It has run.
    Held {
        /// What is in the drain's way.
        blocked: Option<Reason>,
    },
}

/// The trial that is armed, runs or ran last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Trial boots so far. Counted before control passes to the new system.
    pub tries: u32,
    /// The kubelet's state is saved for the next trial.
    pub saved: bool,
    /// Seconds since boot in which the trial must be judged, for the deadman.
    pub deadline_seconds: u64,
    /// The boot in which the stage let the new system through.
    pub guarded: Option<BootId>,
    /// The agent asks the deadman for patience until then.
    pub hold: Option<Moment>,
    /// Since when the new system is healthy without a break, where a soak is asked for.
    pub well_since: Option<Moment>,
    /// Why the trial was given up without blaming the new system.
    pub given_up: Option<Reason>,
    /// Who made the new system the default.
    pub default: NewDefault,
    /// Whether `kubeadm upgrade node` has run.
    pub kubeadm: Kubeadm,
}

/// Who made the new system the default before Careen did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewDefault {
    /// Nobody.
    NotMoved,
    /// Somebody else, during the trial.
    Moved {
        /// The boot in which the old system was last to be made the default again. Written before
        /// that begins, once a boot.
        reinstated: Option<BootId>,
    },
}

/// Whether `kubeadm upgrade node` has run in the new system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kubeadm {
    /// It must run before the node is given back: it did not succeed before the new system was
    /// found healthy, or another boot came in between.
    pub due: bool,
    /// The boot in which it succeeded.
    pub configured: Option<BootId>,
}

/// Who has reached the API server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiSeen {
    /// The old system, in this upgrade. Released agents did not write it: ask
    /// [`super::Upgrade::old_has_reached_api`].
    pub from_old: bool,
    /// The boot in which the new system has. Written only where the policy blesses without a
    /// server.
    pub from_new: Option<BootId>,
    /// The old system, since a whole trial in which the new one reached none.
    pub compared: bool,
}

/// What was done again on the way to the next trial, so that each is bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Redo {
    /// The deployment is being made again. Until that is done, the former deployment may still be
    /// on the disk, whatever the note about /etc says.
    pub deploying: bool,
    /// How often that began since the last trial.
    pub deployed: u32,
    /// How often the node was drained again since the last trial, because its cordon was removed.
    pub drained: u32,
}

impl Attempt {
    /// Nothing was tried yet.
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
            default: NewDefault::NotMoved,
            kubeadm: Kubeadm {
                due: false,
                configured: None,
            },
        }
    }

    /// Another one is armed.
    pub fn arm(&mut self, deadline_seconds: u64) {
        self.tries = self.tries.saturating_add(1);
        self.deadline_seconds = deadline_seconds;
        (self.guarded, self.hold, self.well_since) = (None, None, None);
        (self.given_up, self.default) = (None, NewDefault::NotMoved);
    }
}

impl NewDefault {
    /// Whether somebody else moved it.
    #[must_use]
    pub const fn is_moved(&self) -> bool {
        matches!(self, Self::Moved { .. })
    }

    /// The boot in which the old system was last to be made the default again.
    #[must_use]
    pub const fn reinstated(&self) -> Option<&BootId> {
        match self {
            Self::NotMoved => None,
            Self::Moved { reinstated } => reinstated.as_ref(),
        }
    }

    /// Somebody else is seen to have moved it.
    pub fn note_moved(&mut self) {
        if !self.is_moved() {
            *self = Self::Moved { reinstated: None };
        }
    }

    /// The old system is about to be made the default again, in this boot.
    pub fn note_reinstating(&mut self, boot: BootId) {
        *self = Self::Moved {
            reinstated: Some(boot),
        };
    }
}

impl Kubeadm {
    /// It has written the new kubelet's configuration, in this boot.
    pub fn configure(&mut self, boot: BootId) {
        (self.due, self.configured) = (false, Some(boot));
    }
}

impl Rehearsal {
    /// What is in the drain's way, as far as the rehearsal has run.
    #[must_use]
    pub const fn blocked(&self) -> Option<&Reason> {
        match self {
            Self::Due => None,
            Self::Held { blocked } => blocked.as_ref(),
        }
    }
}
