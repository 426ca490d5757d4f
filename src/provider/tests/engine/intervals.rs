//! How soon core should ask again. Core keeps the interval until its next call, so the interval is
//! the delay with which it hears of the next change.

use provider::engine::{Answer, Progress, Server, Why};
use upgrade::Phase;
use upgrade::report::Answer as NodeAnswer;

use crate::scene::*;

fn held(why: Why) -> u32 {
    Answer::Held(why).retry_after()
}

/// The agent is at this phase.
fn works(phase: &str) -> u32 {
    let scene = scene().asked().answered(NodeAnswer::InProgress, phase);
    let answer = scene.decide().answer;
    assert!(matches!(answer, Answer::Working(_)), "{answer:?}");
    answer.retry_after()
}

#[test]
fn the_nearer_the_end_the_sooner_core_asks_again() {
    let phases = [
        ("Accepted", 10),
        ("Fetched", 10),
        ("Verified", 10),
        ("Deployed", 10),
        ("Drained", 10),
        ("Armed", 5),
        ("Trial", 5),
        ("Healthy", 1),
        ("Blessed", 1),
        ("Upgraded", 1),
        ("Reverting", 10),
        ("Failed", 10),
        ("Halted", 10),
    ];
    assert_eq!(phases.map(|(phase, _)| phase), Phase::NAMES);
    for (phase, seconds) in phases {
        assert_eq!(works(phase), seconds, "{phase}");
    }
    assert_eq!(works("a phase of a later agent"), 10);
    let asked = scene().decide().answer;
    let scheduled = Answer::Working(Progress {
        phase: "Scheduled".into(),
        percent: 0,
        reason: None,
    });
    assert_eq!((asked.retry_after(), asked), (2, scheduled));
}

#[test]
fn transient_holds_are_retried_sooner_than_holds_for_a_person() {
    let cluster = || "c".to_owned();
    let soon = [
        Why::NoNode,
        Why::ControlPlaneUnknown { cluster: cluster() },
        Why::Unverified {
            detail: String::new(),
        },
    ];
    assert_eq!(soon.map(held), [2; 3]);
    let others = [
        Why::NotItsTurn {
            group: String::new(),
            allowed: 1,
        },
        Why::OtherRequest {
            node: "n".into(),
            id: "by-hand".into(),
        },
        Why::ApiAway {
            cluster: cluster(),
            detail: String::new(),
        },
        Why::Unwritten {
            detail: String::new(),
        },
    ];
    assert_eq!(others.map(held), [10; 4]);
    let persons = [
        Why::NoImage {
            version: NEW.into(),
            machine: "m".into(),
        },
        Why::AheadOfControlPlane {
            wanted: NEW.parse().unwrap(),
            control_plane: Box::new(Server::somewhere(OLD.parse().unwrap())),
        },
        Why::NodePaused {
            node: "n".into(),
            reason: "an audit".into(),
        },
        Why::NoAnswer {
            node: "n".into(),
            seconds: 300,
        },
        Why::Withdrawn,
    ];
    assert_eq!(persons.map(held), [15; 5]);
}

#[test]
fn ended_answers_are_retried_rarely_and_unstarted_ones_soon() {
    let failed = scene().asked().answered(NodeAnswer::Failed, "Failed");
    assert_eq!(failed.decide().answer.retry_after(), 15);
    let cancelled = Answer::Cancelled(Why::Deleted);
    assert_eq!(cancelled.retry_after(), 15);
    assert_eq!(Answer::Idle.retry_after(), 2);
    assert_eq!(Answer::Untold.retry_after(), 2);
    assert_eq!(
        Answer::Done.retry_after(),
        1,
        "where it may not be said yet"
    );
}
