//! The note of how the node serves: when it is written, and what several looks make of it.

use super::*;

#[test]
fn first_drain_notes_how_the_node_serves() {
    let serving = Serving {
        node: Some(offer("c1")),
        ..Serving::default()
    };
    let drained = |serving: &Serving| Finished {
        step: Step::Drain { spent_seconds: 0 },
        outcome: Outcome::Done(Effect::Drained {
            serving: serving.clone(),
        }),
    };
    let seen = asked().with(|seen| seen.turn.finished = Some(drained(&serving)));
    let (record, _) = next_by(&seen, &upgrade_in(Phase::Deployed), &at_once());
    assert_eq!(record.upgrade.as_ref().unwrap().served, serving);
    // Another drain finds a node that is cordoned.
    let later = Serving::default();
    let mut again = record;
    again.upgrade.as_mut().unwrap().phase = Phase::Deployed;
    let seen = asked().with(|seen| seen.turn.finished = Some(drained(&later)));
    let (record, _) = next_by(&seen, &again, &at_once());
    assert_eq!(record.upgrade.unwrap().served, serving);
}

#[test]
fn what_a_pre_hook_stops_is_compared() {
    let serving = |active: &[&str]| Serving {
        units: Some(serving::Units {
            active: Some(active.iter().map(|name| (*name).to_owned()).collect()),
            ..units(&[])
        }),
        ..Serving::default()
    };
    let ended = |step: Step, effect: Effect, record: &Record| {
        let outcome = Outcome::Done(effect);
        let seen = asked().with(|seen| seen.turn.finished = Some(Finished { step, outcome }));
        next_by(&seen, record, &at_once()).0
    };
    let before = Effect::Prepared {
        serving: serving(&["srv-data.mount", "x.service"]),
    };
    let record = ended(Step::PreHooks, before, &upgrade_in(Phase::Deployed));
    let after = Effect::Drained {
        serving: Serving {
            node: Some(offer("c1")),
            ..serving(&["x.service"])
        },
    };
    let record = ended(Step::Drain { spent_seconds: 0 }, after, &record);
    let served = record.upgrade.unwrap().served;
    assert_eq!(served.node, Some(offer("c1")));
    let active = served.units.unwrap().active.unwrap();
    assert!(active.contains("srv-data.mount"), "{active:?}");
}

#[test]
fn what_serves_in_one_look_of_the_note_is_compared() {
    let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    let moment = Offer {
        drivers: names(&["csi.example"]),
        handlers: names(&[]),
        taints: names(&["cni.example/starts"]),
        ..Offer::default()
    };
    let other = Offer {
        drivers: names(&[]),
        handlers: names(&["kata"]),
        taints: names(&[]),
        services: ["IPv4".to_owned()].into(),
        ..offer("c1")
    };
    for noted in [
        moment.clone().joined(other.clone()),
        other.joined(moment.clone()),
    ] {
        assert_eq!(noted.drivers, names(&["csi.example"]));
        assert_eq!(noted.handlers, names(&["kata"]));
        assert_eq!(noted.taints, names(&[]));
        assert_eq!(noted.services.len(), 1);
        assert_eq!(noted.pods, offer("c1").pods);
        assert_eq!(noted.resources, offer("c1").resources);
    }
    let untold = Offer::default().joined(moment);
    assert_eq!(untold.drivers, names(&["csi.example"]));
}

#[test]
fn pod_that_was_ready_in_one_look_of_the_note_is_compared() {
    let mut waiting = offer("c0");
    waiting.pods[0].unready = unready("container cni: ContainerCreating", false);
    let ready = offer("c1");
    for noted in [
        ready.clone().joined(waiting.clone()),
        waiting.clone().joined(ready.clone()),
    ] {
        assert_eq!(noted.pods, ready.pods);
    }
    assert_eq!(waiting.clone().joined(waiting.clone()).pods, waiting.pods);
}

#[test]
fn best_of_two_looks_at_resources_and_pressures_is_noted() {
    let with = |gpus: &str, pressure: &str| Offer {
        resources: [("example.com/gpu".to_owned(), gpus.to_owned())].into(),
        conditions: [("DiskPressure".to_owned(), pressure.to_owned())].into(),
        ..Offer::default()
    };
    let (good, bad) = (with("2", "False"), with("0", "True"));
    assert_eq!(good.clone().joined(bad.clone()), good);
    assert_eq!(bad.joined(good.clone()), good);
}

/// A second trial after the old system has run again with these pods, and what the new system
/// shows then.
fn second_trial(between: &[NodePod], then: Vec<NodePod>) -> Phase {
    let mut record = trial();
    let up = record.upgrade.as_mut().unwrap();
    (up.phase, up.attempt.tries) = (Phase::Drained, 1);
    let gone = NodePod {
        owner: Owner {
            kind: String::new(),
            name: "removed".into(),
            ..up.served.node.as_ref().unwrap().pods[0].owner.clone()
        },
        ..pod("removed", "s1", "c9")
    };
    up.served.node.as_mut().unwrap().pods.push(gone);
    let pods = Some(between.to_vec());
    let snapshot = Finished {
        step: Step::Snapshot,
        outcome: Outcome::Done(Effect::Saved { pods }),
    };
    let seen = asked().with(|seen| seen.turn.finished = Some(snapshot));
    let (mut record, _) = next_by(&seen, &record, &at_once());
    record.upgrade.as_mut().unwrap().phase = Phase::Trial { boot: boot(2) };
    let seen = now(|node| node.pods = then);
    phase_of(&next_by(&seen, &record, &at_once()).0)
}

#[test]
fn next_trial_is_compared_with_the_last_boot_of_the_old_system() {
    let between = [pod("cni", "p1", "c3"), pod("new", "p7", "c7")];
    let stale = second_trial(&between, vec![pod("cni", "p1", "c3")]);
    assert!(matches!(stale, Phase::Reverting { .. }), "{stale:?}");
    let runs = second_trial(&between, vec![pod("cni", "p1", "c4")]);
    assert!(matches!(runs, Phase::Healthy { .. }), "{runs:?}");
}

#[test]
fn template_that_failed_on_the_old_system_too_blames_no_image() {
    let broken = NodePod {
        revision: "r2".into(),
        unready: Some(Unready {
            why: "container cni: CreateContainerError".into(),
            pulls: false,
            broken: true,
        }),
        ..pod("cni", "p2", "")
    };
    let Phase::Reverting { reason } =
        second_trial(std::slice::from_ref(&broken), vec![broken.clone()])
    else {
        panic!("it serves less")
    };
    assert!(!reason.blames_image(), "{reason:?}");
}
