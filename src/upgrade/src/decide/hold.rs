//! What the deadman is asked for: the trial goes on after its usual deadline.

use super::change::Change;
use super::situation::Situation;
use crate::id::{Moment, SinceBoot};

/// Patience that the deadman is asked for beyond the agent's own deadline, in seconds.
const SLACK: u64 = 60;

/// How long a look at the control plane may take, with the pause before it, in seconds.
const LOOK: u64 = 240;

/// The trial goes on until then.
pub(super) fn hold(s: &Situation<'_>, until: SinceBoot) -> Change {
    Change::Hold(Moment {
        boot: s.seen.turn.boot.clone(),
        at: until.plus_seconds(SLACK),
    })
}

/// The trial goes on for one more look at the control plane.
pub(super) fn hold_for_a_look(s: &Situation<'_>) -> Change {
    hold(s, s.seen.turn.now.plus_seconds(LOOK))
}
