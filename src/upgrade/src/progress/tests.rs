use super::{Custody, NewDefault, Taken, Upgrade};
use crate::id::{BootId, Digest, Moment, SinceBoot};
use crate::image::Deployment;
use crate::reason::Reason;
use crate::record::{Retry, Upgrade as Wire};
use crate::step::StepKind;
use crate::target::{RawRequest, Target};

fn digest(letter: char) -> Digest {
    letter.to_string().repeat(64).parse().unwrap()
}

fn wire() -> Wire {
    let request = RawRequest {
        request: "Scheduled".to_owned(),
        image: None,
        kubernetes: None,
        id: None,
        soak: None,
    };
    let from = Deployment {
        digest: digest('a'),
        serial: 0,
        stateroot: "debian".to_owned(),
        bootcsum: "a".repeat(64),
        pinned: false,
        kept: false,
    };
    Wire::new(
        "u1".parse().unwrap(),
        request,
        Target::here(digest('b')),
        from,
    )
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
    Upgrade::from(wire.clone()).into_wire(wire)
}

/// What agents write on the way: begun, taken, given back, and after a trial.
fn written() -> [Wire; 5] {
    let taken = Wire {
        taken: true,
        prepared: true,
        post_hooks_due: true,
        node: Some("node-a".to_owned()),
        excluded: Some(moment()),
        drain_begun: Some(moment()),
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
        warning: Some(Reason::Withdrawn),
        ..taken.clone()
    };
    [wire(), taken, given_back, before_the_next_trial, moved]
}

#[test]
fn what_agents_write_is_the_same_after_the_values() {
    for wire in written() {
        assert_eq!(through_the_values(&wire), wire);
        assert_eq!(Wire::from(Upgrade::from(wire.clone())), wire);
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
    assert_eq!(through_the_values(&older), older);
}

#[test]
fn a_value_that_no_agent_writes_stays_until_it_changes() {
    let odd = Wire {
        released: true,
        node: Some("node-a".to_owned()),
        reinstated: Some(boot()),
        warning: Some(Reason::Withdrawn),
        ..wire()
    };
    assert_eq!(through_the_values(&odd), odd);
    let mut up = Upgrade::from(odd.clone());
    up.custody = Custody::Users { hooks_due: false };
    up.attempt.default = NewDefault::Moved { reinstated: None };
    let changed = up.into_wire(&odd);
    assert_eq!((changed.released, changed.node), (false, None));
    assert_eq!((changed.default_moved, changed.reinstated), (true, None));
    assert_eq!(changed.warning, odd.warning);
}

#[test]
fn a_retry_of_a_step_that_is_not_known_stays() {
    let retry = |step: &str| Wire {
        retry: Some(Retry {
            step: step.to_owned(),
            tries: 2,
            due: moment(),
            reason: Reason::Withdrawn,
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
