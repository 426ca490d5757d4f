//! From the release to a host that is clean.

use super::join::withdrawn;
use super::next::Next;
use crate::claim::{Release, Wanted};
use crate::observe::{Agent, Checks, Clean, Fence, Observation};
use crate::reason::Reason;
use crate::record::{Record, Stage, Stay};
use crate::step::{Act, Step};

/// How often a host is cleaned before a person must look.
const CLEANINGS: u32 = 2;

/// How long a cleaning may take, in seconds. kubeadm has 5 min of it.
const CLEAN_SECONDS: u64 = 900;

/// Ends a stay in which no bootstrap data were used. There is nothing to fence or to clean. If the
/// claim is only missing, it can come back, so it has not ended.
pub(super) fn unused(record: &mut Record, stay: Stay, seen: &Observation) -> Next {
    let act = withdrawn(seen);
    if act != Act::Wait || seen.agent != Agent::AtRest {
        return Next::act(stay, act);
    }
    if stay.claim.wanted == Wanted::Released {
        record.end(stay.claim.id);
    }
    Next {
        stay: None,
        act: Act::Look,
    }
}

/// The step is repeated until nothing is left that could bring the old kubelet back.
pub(super) fn fencing(stay: Stay, seen: &Observation) -> Next {
    match seen.fence {
        Fence::Whole => Next::reach(stay, Stage::Fenced),
        Fence::Open(_) => fence(stay),
    }
}

fn fence(stay: Stay) -> Next {
    let step = Step::Fence(stay.claim.id.clone());
    Next::act(stay, Act::Do(step))
}

/// A trial that is under way ends by itself. Until then nothing is cleaned: the deployment that
/// boots next is not known.
pub(super) fn fenced(stay: Stay, seen: &Observation) -> Next {
    match (&seen.fence, stay.claim.release) {
        (Fence::Open(_), Release::Clean | Release::Keep) => fence(stay),
        (Fence::Whole, Release::Keep) => {
            Next::reach(stay, Stage::Quarantined { why: Reason::Kept })
        }
        (Fence::Whole, Release::Clean) if seen.asked => Next::act(stay, withdrawn(seen)),
        (Fence::Whole, Release::Clean) if seen.agent != Agent::AtRest => Next::act(stay, Act::Wait),
        (Fence::Whole, Release::Clean) => clean_again(stay),
    }
}

fn clean_again(stay: Stay) -> Next {
    let cleanings = stay.cleanings.saturating_add(1);
    Next::reach(Stay { cleanings, ..stay }, Stage::Cleaning)
}

/// A cleaning that was interrupted runs again.
pub(super) fn cleaning(stay: Stay, seen: &Observation) -> Next {
    let id = stay.claim.id.clone();
    match seen.clean {
        Clean::Idle => Next::act(stay, Act::Do(Step::Clean(id))),
        Clean::Running(seconds) if seconds > CLEAN_SECONDS => {
            Next::act(stay, Act::Do(Step::EndClean(id)))
        }
        Clean::Running(_) => Next::act(stay, Act::Wait),
        Clean::Ended => {
            let boot = seen.boot.clone();
            Next::reach(stay, Stage::Cleaned { boot })
        }
    }
}

/// Only another boot shows that the host is clean.
pub(super) fn cleaned(
    record: &mut Record,
    stay: Stay,
    is_this_boot: bool,
    seen: &Observation,
) -> Next {
    if is_this_boot {
        return Next::act(stay, Act::Do(Step::Reboot));
    }
    match &seen.checks {
        Checks::NotRun => Next::act(stay, Act::Do(Step::Check)),
        Checks::Green => {
            record.end(stay.claim.id);
            Next {
                stay: None,
                act: Act::Look,
            }
        }
        Checks::Red(_) if stay.cleanings < CLEANINGS => clean_again(stay),
        Checks::Red(found) => {
            let found = found.clone();
            let why = Reason::CleaningFailed { found };
            Next::reach(stay, Stage::Quarantined { why })
        }
    }
}

/// A person's word begins a cleaning as after a release.
pub(super) fn quarantined(stay: Stay, seen: &Observation) -> Next {
    if !seen.asked_to_clean {
        return Next::act(stay, Act::Wait);
    }
    let stay = Stay {
        cleanings: 0,
        ..stay
    };
    clean_again(stay)
}
