//! A trial is compared with the node as it was before the drain. What is compared has a file each
//! in `serving`. When a difference counts, whom it blames and what the policy says is tested here.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "serving/node.rs"]
mod node;
#[path = "serving/note.rs"]
mod note;
#[path = "serving/pods.rs"]
mod pods;
#[path = "serving/resources.rs"]
mod resources;
mod scene;
#[path = "serving/units.rs"]
mod units;

use scene::*;
use upgrade::policy::Demand;
use upgrade::serving::{Down, ImageId, NodePod, Offer, Owner, Unready};
use upgrade::*;

fn pod(name: &str, uid: &str, containers: &str) -> NodePod {
    NodePod {
        owner: Owner {
            kind: "DaemonSet".into(),
            namespace: "kube-system".into(),
            name: name.into(),
        },
        uid: uid.into(),
        revision: "r1".into(),
        containers: containers.into(),
        ..NodePod::default()
    }
}

fn unready(why: &str, pulls: bool) -> Option<Unready> {
    let why = why.to_owned();
    let broken = false;
    Some(Unready { why, pulls, broken })
}

/// A node with a network plugin and two GPUs.
fn offer(containers: &str) -> Offer {
    let text = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let resources = [
        ("cpu", "4"),
        ("memory", "16Gi"),
        ("pods", "110"),
        ("nvidia.com/gpu", "2"),
        ("hugepages-2Mi", "1Gi"),
    ];
    let addresses = [("InternalIP", "10.0.0.7"), ("InternalIP", "fd00::7")];
    let conditions = [("DiskPressure", "False"), ("KernelDeadlock", "False")];
    Offer {
        conditions: conditions.map(text).into(),
        addresses: addresses.map(text).into(),
        resources: resources.map(text).into(),
        taints: None,
        drivers: None,
        handlers: None,
        features: None,
        devices: None,
        labels: None,
        services: std::collections::BTreeSet::new(),
        pods: vec![pod("cni", "p1", containers)],
    }
}

fn units(down: &[&str]) -> serving::Units {
    let down = down.iter().map(|name| Down {
        name: (*name).to_owned(),
        why: "exit-code, exit status 217".into(),
        cause: Cause::Image,
        timed: false,
    });
    serving::Units {
        down: down.collect(),
        ..serving::Units::default()
    }
}

/// A trial of an upgrade that noted the node before its drain.
fn trial() -> Record {
    upgrade_in_with(Phase::Trial { boot: boot(2) }, |up| {
        up.served = Serving {
            node: Some(offer("c1")),
            units: Some(units(&["old.service"])),
            ..Serving::default()
        };
    })
}

fn upgrade_in_with(phase: Phase, change: impl FnOnce(&mut Upgrade)) -> Record {
    let mut record = upgrade_in(phase);
    change(record.upgrade.as_mut().unwrap());
    record
}

/// All other checks pass, and the node serves as before.
fn at(seconds: u64) -> Observation {
    on_trial().with(|seen| {
        seen.turn.now = SinceBoot(0).plus_seconds(seconds);
        seen.turn.health = healthy();
        seen.turn.serving = Serving {
            node: Some(offer("c2")),
            units: Some(units(&["old.service"])),
            ..Serving::default()
        };
    })
}

fn now(change: impl FnOnce(&mut Offer)) -> Observation {
    at(620).with(|seen| change(seen.turn.serving.node.as_mut().unwrap()))
}

/// What is missing and whether the image is to blame; `None` if the trial passes.
fn less(seen: &Observation, policy: &Policy) -> Option<(String, bool)> {
    let (record, _) = next_by(seen, &trial(), policy);
    match phase_of(&record) {
        Phase::Healthy { .. } => None,
        Phase::Reverting {
            reason: Reason::ServesLess { missing, cause, .. },
        } => Some((missing, cause.is_image())),
        other => panic!("{other:?}"),
    }
}

fn next_by(seen: &Observation, record: &Record, policy: &Policy) -> (Record, Act) {
    next_with(seen, record, &Ok(policy.clone()))
}

fn fails(change: impl FnOnce(&mut Offer)) -> (String, bool) {
    less(&now(change), &at_once()).expect("the trial passes")
}

fn passes(change: impl FnOnce(&mut Offer)) -> Vec<String> {
    let (record, _) = next_by(&now(change), &trial(), &at_once());
    assert!(matches!(phase_of(&record), Phase::Healthy { .. }));
    record.upgrade.unwrap().differs
}

#[test]
fn node_that_serves_as_before_is_blessed_without_a_word() {
    assert_eq!(passes(|_| {}), Vec::<String>::new());
}

#[test]
fn differences_are_awaited_until_the_deadline() {
    let seen = now(|now| now.pods[0].unready = unready("ContainerCreating", false));
    let early = seen.clone().with(|seen| seen.turn.now = SinceBoot(619_000));
    let (record, act) = next_by(&early, &trial(), &at_once());
    assert_eq!(phase_of(&record), Phase::Trial { boot: boot(2) });
    assert_eq!(act, Act::Wait(Some(SinceBoot(620_000))));
    assert!(less(&seen, &at_once()).is_some());
}

#[test]
fn node_that_was_not_looked_at_yet_is_waited_for() {
    let unseen = at(60).with(|seen| seen.turn.serving = Serving::default());
    let (record, act) = next_by(&unseen, &trial(), &at_once());
    assert_eq!(phase_of(&record), Phase::Trial { boot: boot(2) });
    assert_eq!(act, Act::Wait(Some(SinceBoot(600_000))));
    let late = unseen.with(|seen| seen.turn.now = SinceBoot(600_000));
    let (_, image) = less(&late, &at_once()).unwrap();
    assert!(!image, "nothing is known, so nothing is blamed");
}

#[test]
fn record_without_a_note_is_compared_with_nothing() {
    let record = upgrade_in(Phase::Trial { boot: boot(2) });
    let seen = now(|now| now.pods[0].unready = unready("ContainerCreating", false));
    let (record, _) = next_by(&seen, &record, &at_once());
    assert!(matches!(phase_of(&record), Phase::Healthy { .. }));
}

#[test]
fn policy_says_what_warns_and_what_is_ignored() {
    let seen = now(|now| drop(now.resources.remove("nvidia.com/gpu")));
    let by = |change: fn(&mut Policy)| {
        let mut policy = at_once();
        change(&mut policy);
        let (record, _) = next_by(&seen, &trial(), &policy);
        let up = record.upgrade.unwrap();
        matches!(up.phase, Phase::Healthy { .. }).then_some(up.differs.len())
    };
    assert_eq!(by(|_| {}), None);
    assert_eq!(
        by(|policy| policy.serving.resources = Demand::Warn),
        Some(1)
    );
    assert_eq!(by(|policy| policy.serving.resources = Demand::Off), Some(0));
    assert_eq!(
        by(|policy| policy.serving.except = vec!["resource:nvidia.com/*".into()]),
        Some(0)
    );
}

#[test]
fn except_names_one_kind_and_one_thing() {
    for good in [
        "pod:kube-system/cni",
        "unit:*",
        "address:10.0.0.7",
        "taint:example.com/*",
    ] {
        let mut policy = at_once();
        policy.serving.except = vec![good.into()];
        assert_eq!(policy.validate(), Ok(()), "{good}");
    }
    for bad in ["", "cni", "pod:", "pods:kube-system/cni"] {
        let mut policy = at_once();
        policy.serving.except = vec![bad.into()];
        let outside = policy.validate().unwrap_err();
        assert_eq!(outside.field, "serving.except", "{bad}");
        assert!(outside.accepted.contains("pod:<namespace>/<name>"));
    }
}

#[test]
fn soak_begins_again_when_the_node_serves_less() {
    let mut policy = at_once();
    policy.health.soak_seconds = 3600;
    let (record, _) = next_by(&at(60), &trial(), &policy);
    assert!(
        record
            .upgrade
            .as_ref()
            .unwrap()
            .attempt
            .well_since
            .is_some()
    );
    let less = at(90).with(|seen| {
        let now = seen.turn.serving.node.as_mut().unwrap();
        now.pods[0].unready = unready("container cni: Error", false);
    });
    let (record, _) = next_by(&less, &record, &policy);
    assert_eq!(record.upgrade.unwrap().attempt.well_since, None);
}

#[test]
fn only_a_difference_of_the_image_is_remembered() {
    let reason = |cause| Reason::ServesLess {
        missing: "x".into(),
        seconds: 600,
        cause,
    };
    assert!(reason(Cause::Image).blames_image());
    for cause in [Cause::Node, Cause::Neighbour, Cause::Unclear] {
        assert!(!reason(cause).blames_image());
    }
}
