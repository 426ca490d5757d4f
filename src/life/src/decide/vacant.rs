//! A host that serves no claim.

use crate::claim::{Claim, Wanted};
use crate::observe::{Agent, Checks, Claimed, Fence, Observation};
use crate::record::{Record, Stay};
use crate::step::{Act, Step};

/// Accepts a claim only if the host is clean in this boot and careen-agent is at rest.
pub(super) fn decide(record: &mut Record, seen: &Observation) -> Act {
    if seen.asked {
        return Act::Do(Step::WithdrawImage);
    }
    match &seen.checks {
        Checks::NotRun => Act::Do(Step::Check),
        Checks::Red(_) => refused(record, seen),
        Checks::Green if seen.agent != Agent::AtRest => refused(record, seen),
        Checks::Green => claimed(record, seen),
    }
}

fn claimed(record: &mut Record, seen: &Observation) -> Act {
    match &seen.claimed {
        Claimed::Unknown(_) | Claimed::No => Act::Wait,
        Claimed::By(claim) if record.has_ended(&claim.id) => Act::Wait,
        Claimed::By(claim) => accept(record, claim, seen),
    }
}

fn accept(record: &mut Record, claim: &Claim, seen: &Observation) -> Act {
    match claim.wanted {
        Wanted::Joined => {
            record.stay = Some(Stay::new(claim.clone()));
            Act::Look
        }
        Wanted::Released => end(record, claim, seen),
    }
}

/// A claim that is released before the host accepts it has ended, whatever the host finds.
fn refused(record: &mut Record, seen: &Observation) -> Act {
    match &seen.claimed {
        Claimed::By(claim) if claim.wanted == Wanted::Released && !record.has_ended(&claim.id) => {
            end(record, claim, seen)
        }
        Claimed::By(_) | Claimed::Unknown(_) | Claimed::No => Act::Wait,
    }
}

/// The end of a claim says that its kubelet cannot come back. A record that was lost does not know
/// whose kubelet runs here, so a person removes it first.
fn end(record: &mut Record, claim: &Claim, seen: &Observation) -> Act {
    match seen.fence {
        Fence::Open(_) => Act::Wait,
        Fence::Whole => {
            record.end(claim.id.clone());
            Act::Look
        }
    }
}
