//! What a question for a plan is answered with.
#![allow(clippy::unwrap_used, clippy::panic)]

mod answer;
mod keys;
mod look;
#[path = "../scene/mod.rs"]
mod scene;
mod waits;

use scene::*;
use upgrade::plan::*;
use upgrade::*;

fn image(letter: char) -> String {
    format!("ostree:careen:os@{} q1", digest(letter))
}

fn asks(asked: &str, seen: &Observation) -> Response {
    respond(asked, &Ok(Record::default()), seen, &Ok(Policy::default()))
}

fn refused(response: Response) -> String {
    match response {
        Response::Answer(plan) => plan.code.unwrap(),
        Response::Look(look) => panic!("{look:?}"),
    }
}

fn found() -> Found {
    Found {
        facts: facts('b'),
        kernel: Some("6.1".into()),
        packages: vec![],
        fetch_bytes: None,
        etc_conflicts: vec![],
        accounts: vec![],
        etc_refusal: None,
        kept_goes: false,
    }
}

fn package(number: usize) -> Package {
    Package {
        name: format!("package-{number}"),
        change: Change {
            from: Some("1.0".into()),
            to: Some("2.0".into()),
        },
        bytes: i64::try_from(number).unwrap() - 500,
    }
}

/// The answer about image `b`.
fn answered(found: Found, pods: Rehearsed) -> Plan {
    answered_by(&Policy::default(), found, pods)
}

fn answered_by(policy: &Policy, found: Found, pods: Rehearsed) -> Plan {
    answered_on(&quiet(), policy, found, pods)
}

fn answered_on(seen: &Observation, policy: &Policy, found: Found, pods: Rehearsed) -> Plan {
    let asked = image('b');
    let Response::Look(look) = asks(&asked, seen) else {
        panic!()
    };
    let case = Case {
        asked: &asked,
        look: &look,
        record: &Record::default(),
        seen,
        policy,
    };
    answer(&case, found, pods)
}
