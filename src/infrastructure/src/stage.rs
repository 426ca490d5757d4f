//! What the conditions of a machine say.

use crate::claim::Wanted;
use crate::decision::Decision;
use crate::facts::Machine;
use crate::host::Host;
use crate::why::Why;
use life::Phase;

/// How far a machine is. Each stage includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// No host has its claim.
    Unclaimed,
    /// A host has its claim.
    Claimed,
    /// The host runs the image.
    Imaged,
    /// The host has joined.
    Joined,
    /// The machine is provisioned.
    Provisioned,
}

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Nothing is known of it yet.
    Unknown,
}

impl Stage {
    /// How far a machine is, with this host.
    #[must_use]
    pub fn of(machine: &Machine, host: Option<&Host>) -> Self {
        let Some(named) = &machine.host else {
            return Self::Unclaimed;
        };
        let claimed = host.filter(|host| host.claim_of(&named.claim).is_some());
        let Some(host) = claimed else {
            return Self::Unclaimed;
        };
        if machine.provisioned {
            return Self::Provisioned;
        }
        match host.phase {
            Phase::Joined if host.observes(&named.claim) => Self::Joined,
            Phase::Joining if host.observes(&named.claim) => Self::Imaged,
            Phase::Joined
            | Phase::Joining
            | Phase::Registered
            | Phase::Available
            | Phase::Imaging
            | Phase::Fencing
            | Phase::Cleaning
            | Phase::Failed
            | Phase::Quarantined => Self::Claimed,
        }
    }
}

/// The conditions of a machine, each with its status. The reason and the message of a condition
/// that is not true are those of the decision.
#[must_use]
pub fn words(
    machine: &Machine,
    host: Option<&Host>,
    decision: &Decision,
) -> [(&'static str, Word); 6] {
    let stage = Stage::of(machine, host);
    let reached = |needed: Stage| match stage.cmp(&needed) {
        std::cmp::Ordering::Greater | std::cmp::Ordering::Equal => Word::True,
        std::cmp::Ordering::Less if stage >= before(needed) => Word::False,
        std::cmp::Ordering::Less => Word::Unknown,
    };
    let taken = matches!(decision.why, Why::NodeNameTaken { .. });
    let node = match taken {
        true => Word::False,
        false => reached(Stage::Provisioned),
    };
    let leaving = machine.deleting
        || host
            .and_then(|host| host.claim.as_ref())
            .is_some_and(|claim| claim.wanted == Wanted::Released);
    let ready = stage == Stage::Provisioned && !leaving && decision.why == Why::Running;
    [
        ("Ready", ready.into()),
        ("HostClaimed", reached(Stage::Claimed)),
        ("ImageReady", reached(Stage::Imaged)),
        ("Bootstrapped", reached(Stage::Joined)),
        ("NodeMatches", node),
        ("Paused", machine.paused.is_some().into()),
    ]
}

impl From<bool> for Word {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

const fn before(stage: Stage) -> Stage {
    match stage {
        Stage::Unclaimed | Stage::Claimed => Stage::Unclaimed,
        Stage::Imaged => Stage::Claimed,
        Stage::Joined => Stage::Imaged,
        Stage::Provisioned => Stage::Joined,
    }
}
