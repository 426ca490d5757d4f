//! Conversion between the flat form and the typed upgrade, in both directions.

use super::wire::{Wire, WireRetry};
use super::{Custody, NewDefault, Rehearsal, Taken, Upgrade};
use crate::id::{BootId, Digest, Moment, SinceBoot};
use crate::image::Deployment;
use crate::reason::Reason;
use crate::step::StepKind;
use crate::target::{RawRequest, Target};

fn digest(letter: char) -> Digest {
    letter.to_string().repeat(64).parse().unwrap()
}

fn wire() -> Wire {
    let from = Deployment {
        digest: digest('a'),
        serial: 0,
        stateroot: "debian".to_owned(),
        bootcsum: "a".repeat(64),
        pinned: false,
        kept: false,
    };
    let target = Target::here(digest('b'));
    Upgrade::new("u1".parse().unwrap(), RawRequest::default(), target, from).into()
}

fn boot() -> BootId {
    "b0071".parse().unwrap()
}

fn moment() -> Moment {
    Moment {
        boot: boot(),
        at: SinceBoot(7000),
    }
}

fn through_the_values(wire: &Wire) -> Wire {
    Upgrade::from(wire.clone()).into()
}

/// What agents write during an upgrade: begun, taken, given back, and after a trial.
fn written() -> [Wire; 5] {
    let taken = Wire {
        taken: true,
        prepared: true,
        post_hooks_due: true,
        node: Some("node-a".to_owned()),
        excluded: Some(moment()),
        drain_begun: Some(moment()),
        api_seen_from_old: true,
        ..wire()
    };
    let given_back = Wire {
        released: true,
        post_hooks_due: true,
        ..wire()
    };
    let before_the_next_trial = Wire {
        post_hooks_due: true,
        ..wire()
    };
    let moved = Wire {
        default_moved: true,
        reinstated: Some(boot()),
        rehearsed: true,
        warning: Some(Reason::Withdrawn { replaced_by: None }),
        ..taken.clone()
    };
    [wire(), taken, given_back, before_the_next_trial, moved]
}

#[test]
fn what_agents_write_is_the_same_after_the_values() {
    for wire in written() {
        assert_eq!(through_the_values(&wire), wire);
    }
}

#[test]
fn a_node_that_an_older_agent_took_is_taken() {
    let older = Wire {
        prepared: true,
        drain_begun: Some(moment()),
        ..wire()
    };
    let up = Upgrade::from(older.clone());
    assert!(matches!(
        up.custody,
        Custody::Upgrade(Taken { prepared: true, .. })
    ));
    assert!(up.old_has_reached_api(), "no drain ends without the server");
    assert!(through_the_values(&older).taken);
}

#[test]
fn what_no_upgrade_can_be_is_read_as_the_nearest() {
    let odd = Wire {
        released: true,
        node: Some("node-a".to_owned()),
        drain_begun: Some(moment()),
        reinstated: Some(boot()),
        warning: Some(Reason::Withdrawn { replaced_by: None }),
        ..wire()
    };
    let up = Upgrade::from(odd);
    assert_eq!(
        up.custody,
        Custody::GivenBack {
            hooks_due: false,
            since: None
        }
    );
    assert_eq!(up.attempt.default, NewDefault::NotMoved);
    assert_eq!(up.rehearsal, Rehearsal::Due);
    assert!(up.old_has_reached_api(), "also once the node is given back");
}

#[test]
fn a_retry_of_a_step_that_is_not_known_stays() {
    let retry = |step: &str| Wire {
        retry: Some(WireRetry {
            step: step.to_owned(),
            tries: 2,
            due: moment(),
            reason: Reason::Withdrawn { replaced_by: None },
        }),
        ..wire()
    };
    for step in StepKind::ALL
        .map(StepKind::name)
        .into_iter()
        .chain(["Later"])
    {
        assert_eq!(through_the_values(&retry(step)), retry(step));
    }
}
