//! The decision table: who requests what, and of which Node. [`super::pursue`] handles a wish that
//! is complete.

use super::answer::Decision;
use super::facts::{Facts, Road};
use super::leave::{cancelled, idle};
use super::mark::{hold, unheard};
use super::pursue::pursue;
use super::ready::wanted_of;
use super::why::Why;

/// What to write and what to report about one Machine now.
#[must_use]
pub fn decide(facts: &Facts<'_>) -> Decision {
    if facts.machine.deleting {
        return cancelled(facts, Why::Deleted);
    }
    if let Some(what) = facts.paused {
        return cancelled(
            facts,
            Why::Paused {
                what: what.to_owned(),
            },
        );
    }
    match facts.road {
        Road::None => idle(facts),
        Road::Untold => unheard(facts),
        Road::Desired(wanted) => match wanted_of(facts, wanted) {
            Ok(ready) => pursue(facts, &ready),
            Err(why) => hold(facts, why),
        },
    }
}
