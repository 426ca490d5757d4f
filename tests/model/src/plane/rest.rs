//! The promises of a control plane at rest.

use upgrade::{Phase, Reason, Upgrade};

use super::{Lease, Live, Plane, tasks};
use crate::cast;
use crate::world::State;

/// What is wrong at rest.
#[must_use]
pub fn unrest(state: &State, up: &Upgrade) -> Option<&'static str> {
    let plane = state.plane?;
    match &up.phase {
        Phase::Halted {
            reason: Reason::ControlPlaneHurt { .. },
        } => kept(&plane),
        Phase::Upgraded => released(state, &plane).or_else(|| raised(&plane, up)),
        Phase::Failed { .. } => released(state, &plane).or_else(|| over(&plane)),
        Phase::Accepted
        | Phase::Fetched
        | Phase::Verified
        | Phase::Deployed
        | Phase::Drained
        | Phase::Armed { .. }
        | Phase::Trial { .. }
        | Phase::Healthy { .. }
        | Phase::Blessed
        | Phase::Reverting { .. }
        | Phase::Halted { .. } => None,
    }
}

fn kept(plane: &Plane) -> Option<&'static str> {
    let excused = plane.ghost.robbed || plane.ghost.released;
    let kept = matches!(plane.lease, Lease::Ours(_));
    (!kept && !excused).then_some("a hurt member keeps the lock")
}

/// A lock of this node's that any other upgrade takes over is free.
fn released(state: &State, plane: &Plane) -> Option<&'static str> {
    let free = match plane.lease {
        Lease::Free | Lease::Others => true,
        Lease::Ours(holder) => {
            holder != crate::brain::number(state) && tasks::is_over(state, holder)
        }
    };
    (!free).then_some("the lock is free when all is over")
}

fn over(plane: &Plane) -> Option<&'static str> {
    let raising = plane.ledger.is_some_and(|ledger| ledger.raising);
    raising.then_some("no raise is under way when all is over")
}

fn raised(plane: &Plane, up: &Upgrade) -> Option<&'static str> {
    let letter = up.commit().map_or('9', cast::letter);
    let behind = |live: &Live| live.page().is_none_or(|page| page.letter < letter);
    let behind = plane.live[1..].iter().any(behind) || plane.cluster < letter;
    let asked = up.from.digest != cast::digest(letter);
    (behind && asked).then_some("what is upgraded has a control plane at its version")
}
