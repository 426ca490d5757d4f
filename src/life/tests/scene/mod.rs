//! What the tests of the decisions begin with.
#![allow(dead_code)]

use life::{
    Agent, Checks, Claim, ClaimId, Claimed, Clean, Data, Fence, Image, Join, Observation, Record,
    Release, Running, Sentinel, Stage, Stay, Wanted,
};
use upgrade::{BootId, Digest, Moment, SinceBoot};

pub fn id(letter: char) -> ClaimId {
    letter.to_string().repeat(16).parse().unwrap()
}

pub fn hash() -> Digest {
    "7".repeat(64).parse().unwrap()
}

pub fn boot(number: u8) -> BootId {
    format!("{number:x}").parse().unwrap()
}

pub fn claim(letter: char) -> Claim {
    Claim {
        id: id(letter),
        machine: "worker-1".to_owned(),
        cluster: "north".to_owned(),
        image: Some("docker://r/os@sha256:1".to_owned()),
        version: None,
        provider_id: format!("careen://fleet/n-1/{}", id(letter)),
        wanted: Wanted::Joined,
        release: Release::Clean,
        bootstrap_hash: Some(hash()),
        join_seconds: 1200,
        lost: false,
    }
}

pub fn released(letter: char) -> Claim {
    Claim {
        wanted: Wanted::Released,
        ..claim(letter)
    }
}

/// A clean host in its second boot, without a claim.
pub fn seen() -> Observation {
    Observation {
        boot: boot(2),
        now: SinceBoot(60_000),
        claimed: Claimed::No,
        image: Image::Unasked,
        asked: false,
        agent: Agent::AtRest,
        data: Data::Absent,
        join: Join {
            running: Running::No,
            sentinel: Sentinel::Missing,
            ended: None,
        },
        fence: Fence::Whole,
        clean: Clean::Idle,
        checks: Checks::Green,
        asked_to_clean: false,
    }
}

pub fn by(claim: Claim) -> Claimed {
    Claimed::By(Box::new(claim))
}

pub fn claimed(claim: Claim) -> Observation {
    Observation {
        claimed: by(claim),
        ..seen()
    }
}

pub fn at(stage: Stage) -> Record {
    of(Stay {
        stage,
        ..Stay::new(claim('a'))
    })
}

pub fn of(stay: Stay) -> Record {
    Record {
        stay: Some(stay),
        ..Record::default()
    }
}

pub fn bootstrapping() -> Stage {
    Stage::Bootstrapping {
        hash: hash(),
        begun: Moment {
            boot: boot(2),
            at: SinceBoot(0),
        },
    }
}

/// Every stage.
pub fn stages() -> Vec<Stage> {
    vec![
        Stage::Imaging,
        Stage::Ready,
        bootstrapping(),
        Stage::Joined,
        Stage::Fencing,
        Stage::Fenced,
        Stage::Cleaning,
        Stage::Cleaned { boot: boot(2) },
        Stage::Quarantined {
            why: life::Reason::Kept,
        },
    ]
}
