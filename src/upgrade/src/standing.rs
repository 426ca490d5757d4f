//! How far an upgrade stands in the way of changing the agent that serves it.

use crate::phase::{Class, Phase};
use crate::reason::Reason;
use crate::record::{Record, Upgrade};

/// Whether the agents on a node may be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Nothing is under way.
    Free,
    /// An upgrade waits for its operator, hours or days: for the maintenance window, or the end of a pause. It has begun no step, and its users
    /// have the node. Another agent waits as well; none at all would never end it.
    Waits,
    /// An upgrade is under way: nothing new is installed and nothing removed.
    UnderWay,
    /// A trial is armed or runs, or the way back is taken: what either system will run, and what leads to it, stays as it is to the byte.
    Frozen,
}

impl Standing {
    /// As the record says.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        let Some(up) = &record.upgrade else {
            return Self::Free;
        };
        match up.phase.class() {
            Class::Upgraded | Class::Failed { .. } | Class::Halted { .. } => Self::Free,
            Class::Preparing
                if up.attempt.tries == 0 && up.phase != Phase::Drained && waits(up) =>
            {
                Self::Waits
            }
            Class::Preparing if up.attempt.tries == 0 => Self::UnderWay,
            // Between two trials the next boot is as near.
            Class::Preparing | Class::Trying { .. } | Class::Blessed | Class::Reverting { .. } => {
                Self::Frozen
            }
        }
    }
}

/// Whether it waits for the operator with nothing begun. Both marks go in the same write that notes the next step, before that is begun. A step
/// whose outcome is not known may still run, and a node that is being taken from its users is not to be kept from them for an agent's sake.
fn waits(up: &Upgrade) -> bool {
    let closed = matches!(up.waits, Some(Reason::WindowClosed { .. }));
    (up.paused || closed) && up.intent.is_none() && !up.is_taken()
}
