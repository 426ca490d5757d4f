//! What an upgrade is doing, as far as it forbids a change of the agent that serves it.

use crate::phase::{Class, Phase};
use crate::reason::Reason;
use crate::record::{Record, Upgrade};

/// What an upgrade is doing on the node, from what permits most changes of the agents on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Activity {
    /// Nothing is under way.
    Free,
    /// An upgrade waits for its operator, hours or days: for the maintenance window, or the end of
    /// a pause. No step has begun, and the users have the node. Another agent can wait in its
    /// place; without any agent, the wait would never end.
    Waits,
    /// An upgrade is under way: nothing new is installed and nothing is removed.
    UnderWay,
    /// A trial is armed or runs, or the node is reverting. What either system will run, and what
    /// leads to it, must not change by a byte.
    Frozen,
}

impl Activity {
    /// The activity that the record shows.
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
            // Between two trials the next boot is just as near.
            Class::Preparing | Class::Trying { .. } | Class::Blessed | Class::Reverting { .. } => {
                Self::Frozen
            }
        }
    }
}

/// Whether the upgrade waits for the operator and no step has begun. The write that notes the next
/// step clears both marks before the step begins. A step with an unknown outcome may still run. And
/// the node's users must not wait for an agent's change while the node is being taken.
fn waits(up: &Upgrade) -> bool {
    let closed = matches!(up.waits, Some(Reason::WindowClosed { .. }));
    (up.paused || closed) && up.intent.is_none() && !up.is_taken()
}
