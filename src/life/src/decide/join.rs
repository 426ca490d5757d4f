//! From the acceptance of a claim to the Node.

use upgrade::{Digest, Moment};

use super::next::Next;
use crate::claim::ClaimId;
use crate::observe::{Data, Image, Observation, Running, Sentinel};
use crate::reason::Reason;
use crate::record::{Stage, Stay};
use crate::step::{Act, Step};

/// The image of the claim is brought to the disk and boots, as in an upgrade.
pub(super) fn imaging(stay: Stay, seen: &Observation) -> Next {
    if stay.claim.image.is_none() {
        return Next::reach(stay, Stage::Ready);
    }
    match &seen.image {
        Image::Right => Next::reach(stay, Stage::Ready),
        Image::Failed(detail) => {
            let detail = detail.clone();
            failed(stay, Reason::ImageFailed { detail }, withdrawn(seen))
        }
        // The request is in /run, so each boot needs it again.
        Image::Unasked | Image::UnderWay(_) | Image::Unknown(_) if !seen.asked => {
            let ask = Step::AskImage(Box::new(stay.claim.clone()));
            Next::act(stay, Act::Do(ask))
        }
        Image::Unasked | Image::UnderWay(_) | Image::Unknown(_) => Next::act(stay, Act::Wait),
    }
}

/// Bootstrap data are used only if they are of this claim, with the hash that it names, and the
/// image still runs.
pub(super) fn ready(stay: Stay, seen: &Observation) -> Next {
    if stay.claim.image.is_some() && seen.image != Image::Right {
        return Next::reach(stay, Stage::Imaging);
    }
    let wanted = stay.claim.bootstrap_hash.clone();
    let is_ours =
        |claim: &ClaimId, hash: &Digest| stay.claim.id == *claim && wanted.as_ref() == Some(hash);
    match &seen.data {
        Data::For { claim, hash } if is_ours(claim, hash) => bootstrap(stay, hash.clone(), seen),
        Data::Refused {
            claim,
            hash,
            detail,
        } if is_ours(claim, hash) => {
            let detail = detail.clone();
            failed(stay, Reason::BootstrapRefused { detail }, Act::Wait)
        }
        Data::Absent | Data::For { .. } | Data::Refused { .. } => Next::act(stay, Act::Wait),
    }
}

/// The only decision that lets bootstrap data run. The record says so before they do.
fn bootstrap(stay: Stay, hash: Digest, seen: &Observation) -> Next {
    let step = Step::Join(Box::new(stay.claim.clone()));
    let stage = Stage::Bootstrapping {
        hash,
        begun: seen.moment(),
    };
    Next::act(Stay { stage, ..stay }, Act::Do(step))
}

/// The bootstrap data run, or they have run. Nothing here starts them again.
pub(super) fn bootstrapping(stay: Stay, begun: &Moment, seen: &Observation) -> Next {
    if seen.join.running == Running::Yes {
        return running(stay, begun, seen);
    }
    if stay.failed.is_some() {
        return Next::act(stay, Act::Wait);
    }
    match (seen.join.sentinel, &seen.join.ended) {
        (Sentinel::There, _) => Next::reach(stay, Stage::Joined),
        (Sentinel::Missing, Some(detail)) => {
            let detail = detail.clone();
            failed(stay, Reason::JoinFailed { detail }, Act::Wait)
        }
        (Sentinel::Missing, None) => failed(stay, Reason::BootstrapInterrupted, Act::Wait),
    }
}

fn running(stay: Stay, begun: &Moment, seen: &Observation) -> Next {
    let seconds = stay.claim.join_seconds;
    let in_time = begun.boot == seen.boot && seen.now.seconds_since(begun.at) <= seconds;
    let end = Act::Do(Step::EndJoin(stay.claim.id.clone()));
    match &stay.failed {
        None if in_time => Next::act(stay, Act::Wait),
        None => failed(stay, Reason::JoinTimedOut { seconds }, end),
        Some(_) => Next::act(stay, end),
    }
}

/// Withdraws what was asked of careen-agent, if anything was.
pub(super) const fn withdrawn(seen: &Observation) -> Act {
    if seen.asked {
        Act::Do(Step::WithdrawImage)
    } else {
        Act::Wait
    }
}

fn failed(stay: Stay, reason: Reason, act: Act) -> Next {
    let failed = Some(reason);
    Next::act(Stay { failed, ..stay }, act)
}
