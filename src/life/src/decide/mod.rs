//! The decision: one function, without effects. Each file here decides for a part of the life.

mod join;
mod next;
mod release;
mod vacant;

use crate::claim::Wanted;
use crate::observe::{Claimed, Observation};
use crate::record::{Record, RecordRead, Stage, Stay};
use crate::step::Act;
use next::Next;

/// What to write and then to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The next record. `None`: it does not change.
    pub record: Option<Record>,
    /// What to do once the record is written.
    pub act: Act,
}

/// Decides. Without a record that can be used, the host does nothing.
#[must_use]
pub fn decide(read: &RecordRead, seen: &Observation) -> Decision {
    match read {
        Ok(record) => of(record, seen),
        Err(_) => Decision {
            record: None,
            act: Act::Wait,
        },
    }
}

fn of(before: &Record, seen: &Observation) -> Decision {
    let mut record = before.clone();
    let act = match record.stay.take() {
        None => vacant::decide(&mut record, seen),
        Some(stay) => {
            let Next { stay, act } = staying(&mut record, heard(stay, seen), seen);
            record.stay = stay;
            act
        }
    };
    if record == *before {
        return Decision { record: None, act };
    }
    record.generation = record.generation.saturating_add(1);
    Decision {
        record: Some(record),
        act,
    }
}

/// Takes over what the claim says now. A release is never taken back: the host may be half clean.
fn heard(stay: Stay, seen: &Observation) -> Stay {
    let Claimed::By(claim) = &seen.claimed else {
        return stay;
    };
    if claim.id != stay.claim.id {
        return stay;
    }
    let mut claim = claim.as_ref().clone();
    if stay.claim.wanted == Wanted::Released {
        claim.wanted = Wanted::Released;
    }
    Stay { claim, ..stay }
}

fn staying(record: &mut Record, stay: Stay, seen: &Observation) -> Next {
    let released = stay.claim.wanted == Wanted::Released;
    match &stay.stage {
        Stage::Imaging | Stage::Ready if released || seen.claimed == Claimed::No => {
            release::unused(record, stay, seen)
        }
        Stage::Imaging | Stage::Ready if stay.failed.is_some() => {
            Next::act(stay, join::withdrawn(seen))
        }
        Stage::Imaging => join::imaging(stay, seen),
        Stage::Ready => join::ready(stay, seen),
        Stage::Bootstrapping { .. } | Stage::Joined if released => {
            Next::reach(stay, Stage::Fencing)
        }
        Stage::Bootstrapping { hash: _, begun } => {
            let begun = begun.clone();
            join::bootstrapping(stay, &begun, seen)
        }
        Stage::Joined => Next::act(stay, Act::Wait),
        Stage::Fencing => release::fencing(stay, seen),
        Stage::Fenced => release::fenced(stay, seen),
        Stage::Cleaning => release::cleaning(stay, seen),
        Stage::Cleaned { boot } => {
            let is_this_boot = *boot == seen.boot;
            release::cleaned(record, stay, is_this_boot, seen)
        }
        Stage::Quarantined { .. } => release::quarantined(stay, seen),
    }
}
