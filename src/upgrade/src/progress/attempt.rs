//! What is remembered of the trials of one upgrade.

use crate::id::{BootId, Moment};
use crate::reason::Reason;

/// The rehearsal of the drain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rehearsal {
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
pub(crate) struct Attempt {
    /// Trial boots so far. Counted before control passes to the new system.
    pub(crate) tries: u32,
    /// The kubelet's state is saved for the next trial.
    pub(crate) saved: bool,
    /// Seconds since boot in which the trial must be judged, for the deadman.
    pub(crate) deadline_seconds: u64,
    /// The boot in which the stage let the new system through.
    pub(crate) guarded: Option<BootId>,
    /// The agent asks the deadman for patience until then.
    pub(crate) hold: Option<Moment>,
    /// Since when the new system is healthy without a break, where a soak is asked for.
    pub(crate) well_since: Option<Moment>,
    /// Why the trial was given up without blaming the new system.
    pub(crate) given_up: Option<Reason>,
    /// Who made the new system the default.
    pub(crate) default: NewDefault,
    /// Whether `kubeadm upgrade node` has run.
    pub(crate) kubeadm: Kubeadm,
}

/// Who made the new system the default before Careen did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NewDefault {
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
pub(crate) struct Kubeadm {
    /// It must run before the node is given back: it did not succeed before the new system was
    /// found healthy, or another boot came in between.
    pub(crate) due: bool,
    /// The boot in which it succeeded.
    pub(crate) configured: Option<BootId>,
}

/// Who has reached the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiSeen {
    /// The old system, in this upgrade. Released agents did not write it: ask
    /// [`super::Upgrade::old_has_reached_api`].
    pub(crate) from_old: bool,
    /// The boot in which the new system has. Written only where the policy blesses without a
    /// server.
    pub(crate) from_new: Option<BootId>,
    /// The old system, since a whole trial in which the new one reached none.
    pub(crate) compared: bool,
}

/// What was done again on the way to the next trial, so that each is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Redo {
    /// The deployment is being made again. Until that is done, the former deployment may still be
    /// on the disk, whatever the note about /etc says.
    pub(crate) deploying: bool,
    /// How often that began since the last trial.
    pub(crate) deployed: u32,
    /// How often the node was drained again since the last trial, because its cordon was removed.
    pub(crate) drained: u32,
}

impl Attempt {
    /// Another one is armed.
    pub(crate) fn arm(&mut self, deadline_seconds: u64) {
        self.tries = self.tries.saturating_add(1);
        self.deadline_seconds = deadline_seconds;
        (self.guarded, self.hold, self.well_since) = (None, None, None);
        (self.given_up, self.default) = (None, NewDefault::NotMoved);
    }
}

impl NewDefault {
    /// Whether somebody else moved it.
    pub(crate) const fn is_moved(&self) -> bool {
        matches!(self, Self::Moved { .. })
    }

    /// The boot in which the old system was last to be made the default again.
    pub(crate) const fn reinstated(&self) -> Option<&BootId> {
        match self {
            Self::NotMoved => None,
            Self::Moved { reinstated } => reinstated.as_ref(),
        }
    }

    /// Somebody else is seen to have moved it.
    pub(crate) fn note_moved(&mut self) {
        if !self.is_moved() {
            *self = Self::Moved { reinstated: None };
        }
    }

    /// The old system is about to be made the default again, in this boot.
    pub(crate) fn note_reinstating(&mut self, boot: BootId) {
        *self = Self::Moved {
            reinstated: Some(boot),
        };
    }
}

impl Kubeadm {
    /// It has written the new kubelet's configuration, in this boot.
    pub(crate) fn configure(&mut self, boot: BootId) {
        (self.due, self.configured) = (false, Some(boot));
    }
}
