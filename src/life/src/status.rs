//! What the host says of itself in the status of its CareenHost.

use serde::Serialize;

use crate::claim::{Claim, ClaimId, Wanted};
use crate::observe::{Agent, Checks, Claimed, Data, Fence, Image, Observation};
use crate::phase::Phase;
use crate::reason::Reason;
use crate::record::{Record, RecordRead, Stage, Stay};

/// The longest message that the CRD of CareenHost allows, in characters. The API server refuses the
/// whole status if one message is longer, and with it the phase and the reason.
pub const LONGEST_MESSAGE: usize = 4096;

/// The part of the status that follows from the record and the observation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The phase.
    pub phase: Phase,
    /// What the host does within the phase.
    pub step: &'static str,
    /// Why it does not go on; empty if it does.
    pub reason: &'static str,
    /// The sentence of the reason, or what the host waits for.
    pub message: String,
    /// The claim that the phase belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_claim: Option<ClaimId>,
    /// The conditions.
    pub conditions: Vec<Condition>,
}

/// A condition, as in the Kubernetes API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Condition {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// A word in camel case.
    pub reason: &'static str,
    /// A sentence.
    pub message: String,
}

/// Says what the host is and does.
#[must_use]
pub fn status(read: &RecordRead, seen: &Observation) -> Status {
    match read {
        Ok(record) => of(record, seen),
        Err(why) => Status {
            conditions: conditions(None, seen),
            ..because(Phase::Failed, "Wait", why)
        },
    }
}

fn of(record: &Record, seen: &Observation) -> Status {
    let said = match &record.stay {
        None => vacant(record, seen),
        Some(stay) => Status {
            observed_claim: Some(stay.claim.id.clone()),
            ..staying(stay, seen)
        },
    };
    let conditions = conditions(record.stay.as_ref(), seen);
    Status { conditions, ..said }
}

fn vacant(record: &Record, seen: &Observation) -> Status {
    let ended = match &seen.claimed {
        Claimed::By(claim) if record.has_ended(&claim.id) => Some(claim),
        Claimed::By(_) | Claimed::No | Claimed::Unknown(_) => None,
    };
    let said = match (&seen.checks, ended) {
        (_, Some(claim)) if claim.wanted == Wanted::Joined => spent(claim),
        (Checks::NotRun, _) => plain(Phase::Registered, "Check", "the check list runs"),
        (Checks::Red(found), _) => {
            let found = found.clone();
            because(Phase::Registered, "Wait", &Reason::NotClean { found })
        }
        (Checks::Green, _) => match busy(seen) {
            Some(why) => because(Phase::Registered, "Wait", &why),
            None => plain(Phase::Available, "Wait", "clean in this boot"),
        },
    };
    let observed_claim = ended.map(|claim| claim.id.clone());
    Status {
        observed_claim,
        ..said
    }
}

fn spent(claim: &Claim) -> Status {
    let id = claim.id.clone();
    because(Phase::Failed, "Wait", &Reason::ClaimSpent { id })
}

fn staying(stay: &Stay, seen: &Observation) -> Status {
    match &stay.stage {
        Stage::Imaging | Stage::Ready | Stage::Bootstrapping { .. } | Stage::Joined => {
            before_the_release(stay, seen)
        }
        Stage::Fencing => fencing(Phase::Fencing, seen),
        Stage::Fenced => match (&seen.fence, busy(seen)) {
            (Fence::Open(_), _) => fencing(Phase::Cleaning, seen),
            (Fence::Whole, Some(why)) => because(Phase::Cleaning, "Wait", &why),
            (Fence::Whole, None) => plain(Phase::Cleaning, "Wait", "the host is fenced"),
        },
        Stage::Cleaning => plain(Phase::Cleaning, "Clean", "what the cluster left is removed"),
        Stage::Cleaned { boot } if *boot == seen.boot => {
            plain(Phase::Cleaning, "Reboot", "the host reboots")
        }
        Stage::Cleaned { .. } => plain(Phase::Cleaning, "Check", "the check list runs"),
        Stage::Quarantined { why } => because(Phase::Quarantined, "Wait", why),
    }
}

fn before_the_release(stay: &Stay, seen: &Observation) -> Status {
    if let Some(why) = &stay.failed {
        return because(Phase::Failed, "Wait", why);
    }
    let (phase, step, message) = match &stay.stage {
        Stage::Imaging => (Phase::Imaging, "Image", imaging(seen)),
        Stage::Ready => (Phase::Joining, "AwaitData", ""),
        Stage::Bootstrapping { .. } => (Phase::Joining, "Join", ""),
        Stage::Joined
        | Stage::Fencing
        | Stage::Fenced
        | Stage::Cleaning
        | Stage::Cleaned { .. }
        | Stage::Quarantined { .. } => (Phase::Joined, "Wait", ""),
    };
    match of_the_claim(&stay.claim.id, seen).or_else(|| awaited(&stay.stage, seen)) {
        Some(why) => because(phase, step, &why),
        None => plain(phase, step, message),
    }
}

fn imaging(seen: &Observation) -> &str {
    match &seen.image {
        Image::UnderWay(text) | Image::Unknown(text) => text,
        Image::Unasked | Image::Right | Image::Failed(_) => "careen-agent is asked for the image",
    }
}

/// What is wrong with the claim. None of it is an order.
fn of_the_claim(id: &ClaimId, seen: &Observation) -> Option<Reason> {
    let id = id.clone();
    match &seen.claimed {
        Claimed::By(claim) if claim.id == id => None,
        Claimed::By(claim) => Some(Reason::ClaimForeign {
            id,
            found: claim.id.clone(),
        }),
        Claimed::No => Some(Reason::ClaimGone { id }),
        Claimed::Unknown(detail) => Some(Reason::ClaimUnread {
            detail: detail.clone(),
        }),
    }
}

fn awaited(stage: &Stage, seen: &Observation) -> Option<Reason> {
    let awaits = matches!(stage, Stage::Ready) && seen.data == Data::Absent;
    awaits.then_some(Reason::AwaitsData)
}

fn fencing(phase: Phase, seen: &Observation) -> Status {
    let left = match &seen.fence {
        Fence::Whole => String::new(),
        Fence::Open(left) => format!("still there: {}", left.join(", ")),
    };
    plain(phase, "Fence", &left)
}

fn busy(seen: &Observation) -> Option<Reason> {
    match &seen.agent {
        Agent::AtRest => None,
        Agent::Busy(detail) => Some(Reason::AgentBusy {
            detail: detail.clone(),
        }),
    }
}

fn plain(phase: Phase, step: &'static str, message: &str) -> Status {
    Status {
        phase,
        step,
        reason: "",
        message: cut(message),
        observed_claim: None,
        conditions: Vec::new(),
    }
}

fn because(phase: Phase, step: &'static str, why: &Reason) -> Status {
    Status {
        reason: why.code(),
        ..plain(phase, step, &why.to_string())
    }
}

/// `Clean` is of this boot. `Joined` is of the record.
fn conditions(stay: Option<&Stay>, seen: &Observation) -> Vec<Condition> {
    let stage = stay.map(|stay| &stay.stage);
    let joined = match stage {
        Some(Stage::Joined) => condition("Joined", "True", "Joined", ""),
        Some(_) | None => condition("Joined", "False", "NotJoined", ""),
    };
    vec![clean(stage, seen), joined]
}

fn clean(stage: Option<&Stage>, seen: &Observation) -> Condition {
    if !matches!(stage, None | Some(Stage::Imaging | Stage::Ready)) {
        return condition("Clean", "False", "InUse", "a claim has used this host");
    }
    match &seen.checks {
        Checks::NotRun => condition("Clean", "Unknown", "NotChecked", ""),
        Checks::Green => condition("Clean", "True", "Checked", ""),
        Checks::Red(found) => {
            let found = format!("found: {}", found.join(", "));
            condition("Clean", "False", "NotClean", &found)
        }
    }
}

fn condition(
    kind: &'static str,
    status: &'static str,
    reason: &'static str,
    message: &str,
) -> Condition {
    Condition {
        kind,
        status,
        reason,
        message: cut(message),
    }
}

/// The end of a text that is too long: the last lines of an output name the cause, and a sentence
/// ends with what to do. The API server counts Unicode code points, not bytes
/// (k8s.io/kube-openapi/pkg/validation/validate, `MaxLength`).
fn cut(text: &str) -> String {
    match text.chars().count().saturating_sub(LONGEST_MESSAGE) {
        0 => text.to_owned(),
        over => std::iter::once('…')
            .chain(text.chars().skip(over + 1))
            .collect(),
    }
}
