//! From the arming on: the trial of a control-plane node, and the old system after it.

use super::*;

#[test]
fn new_system_is_blessed_after_a_look_and_then_unlocks() {
    let mut node = Node::on_trial();
    node.run();
    let expected = ["Survey", "Bless", "Release", "Unlock", "Clean"];
    let steps: Vec<_> = node
        .steps
        .iter()
        .filter(|step| **step != "Kubeadm")
        .collect();
    assert_eq!(steps, expected.iter().collect::<Vec<_>>());
    assert_eq!(node.up().phase, Phase::Upgraded);
    assert!(!node.control().holds_the_lock());
}

#[test]
fn new_system_whose_member_stays_sick_falls_back_without_blame() {
    let mut node = Node::on_trial();
    node.survey.members[0].sick = Some("raft: stopped".into());
    for _ in 0..80 {
        let act = node.run();
        if act == Act::Begin(Step::Reboot { force: false }) {
            break;
        }
        node.pass(30);
    }
    let Phase::Reverting { reason } = &node.up().phase else {
        panic!("{:?}", node.up().phase)
    };
    assert!(reason.to_string().contains("raft: stopped"), "{reason}");
    assert!(!reason.blames_image());
    assert!(node.seen.turn.now >= SinceBoot(900_000), "it has its time");
    assert!(node.control().holds_the_lock());
}

#[test]
fn virtual_address_that_is_away_ends_no_trial() {
    let mut node = Node::on_trial();
    node.survey.miss(Source::Endpoint, "no route");
    node.run();
    assert_eq!(node.up().phase, Phase::Upgraded, "{:?}", node.steps);
    let mut node = Node::new(Phase::Deployed);
    node.survey.miss(Source::Endpoint, "no route");
    assert!(matches!(node.run(), Act::Wait(Some(_))));
    assert_eq!(node.steps, ["Lock", "Survey"], "no upgrade begins then");
}

#[test]
fn another_member_that_dies_in_the_trial_ends_no_trial() {
    let mut node = Node::on_trial();
    node.survey.members[2].sick = Some("no route".into());
    node.survey.nodes_not_ready = vec!["cp-3".into()];
    node.run();
    assert_eq!(node.up().phase, Phase::Upgraded, "{:?}", node.steps);
    assert!(!node.control().holds_the_lock());
}

/// In its trial, with a required check that fails for good, while another member is away.
fn failed_with_another_member_away() -> Node {
    let mut node = Node::on_trial();
    node.survey.members[2].sick = Some("no route".into());
    let broken = Check::Broken("no such device".into());
    node.seen.turn.health.required = vec![("40-disk".into(), broken)];
    node
}

#[test]
fn bad_trial_waits_for_another_member_before_it_leaves() {
    let mut node = failed_with_another_member_away();
    for _ in 0..10 {
        assert!(matches!(node.run(), Act::Wait(Some(_))), "{:?}", node.steps);
        node.pass(30);
    }
    assert!(matches!(node.up().phase, Phase::Reverting { .. }));
    assert!(matches!(
        node.up().waits,
        Some(Reason::ControlPlaneWaits { .. })
    ));
    let hold = node.up().attempt.hold.as_ref().unwrap();
    assert!(hold.at > node.seen.turn.now, "the deadman waits too");
    node.survey = survey();
    assert_eq!(node.run(), Act::Begin(Step::Reboot { force: false }));
}

#[test]
fn bad_trial_waits_for_no_other_member_for_ever() {
    let mut node = failed_with_another_member_away();
    let mut waited = 0;
    while matches!(node.run(), Act::Wait(_)) {
        node.pass(30);
        waited += 30;
        assert!(waited < 1_200, "{:?}", node.steps);
    }
    assert!(waited >= 900, "{waited}");
}

#[test]
fn bad_trial_whose_own_member_is_hurt_leaves_at_once() {
    let mut node = failed_with_another_member_away();
    node.survey.members[0].sick = Some("no leader".into());
    assert_eq!(node.run(), Act::Begin(Step::Reboot { force: false }));
    let mut node = failed_with_another_member_away();
    node.seen.node.api = Api::Away;
    node.seen.turn.health.ready = Check::Pending("no server".into());
    assert_eq!(node.run(), Act::Begin(Step::Reboot { force: false }));
    assert!(!node.steps.contains(&"Survey"), "nobody is there to ask");
}

#[test]
fn quorum_that_is_lost_in_the_trial_may_come_back() {
    let mut node = Node::on_trial();
    let members = node.survey.members.iter_mut();
    members.for_each(|one| one.sick = Some("no leader".into()));
    for _ in 0..20 {
        assert!(matches!(node.run(), Act::Wait(_)));
        assert!(matches!(node.up().phase, Phase::Trial { .. }));
        node.pass(30);
    }
    node.survey = survey();
    node.run();
    assert_eq!(node.up().phase, Phase::Upgraded, "{:?}", node.steps);
}

#[test]
fn survey_that_always_fails_ends_the_trial() {
    let mut node = Node::on_trial();
    for _ in 0..200 {
        let act = node.step();
        if act == Act::Begin(Step::Reboot { force: false }) {
            assert!(
                node.seen.turn.now >= SinceBoot(1_500_000),
                "it has its time"
            );
            assert!(node.steps.len() < 60, "without a hot loop");
            return;
        }
        if let Act::Begin(Step::Control { task }) = act {
            let died = task.failed(&"no such program");
            node.seen.turn.finished = finished(Step::Control { task }, Outcome::Failed(died));
        }
        node.pass(10);
    }
    panic!("the trial goes on: {:?}", node.up().phase);
}

#[test]
fn local_checks_alone_bless_no_control_plane() {
    let mut node = Node::on_trial();
    node.policy.health.bless_without_api = true;
    node.seen.node.api = Api::Away;
    node.seen.turn.health.ready = Check::Pending("no server".into());
    node.up_mut().api.from_new = Some(boot(2));
    node.pass(660);
    assert!(matches!(node.run(), Act::Wait(_)));
    assert!(matches!(node.up().phase, Phase::Trial { .. }));
}

fn back(hurt: bool) -> Node {
    let reason = Reason::UnguardedBoot;
    let mut node = Node::new(Phase::Reverting { reason });
    node.seen.turn.boot = boot(3);
    node.up_mut().custody = taken(|_| {});
    node.control_mut().lock = Lock::Held { seen: first() };
    if hurt {
        node.survey.miss(Source::Etcd, "connection refused");
    }
    node
}

#[test]
fn old_system_gives_the_turn_back_when_its_member_is_well() {
    let mut node = back(false);
    node.run();
    assert_eq!(node.steps, ["Survey", "Release", "Unlock", "Undo"]);
    assert!(matches!(node.up().phase, Phase::Failed { .. }));
}

#[test]
fn hurt_member_keeps_cordon_and_lock_and_halts() {
    let mut node = back(true);
    for _ in 0..40 {
        assert!(matches!(node.run(), Act::Wait(_)));
        node.pass(30);
    }
    let Phase::Halted { reason } = &node.up().phase else {
        panic!("{:?}", node.up().phase)
    };
    assert!(matches!(reason, Reason::ControlPlaneHurt { .. }));
    assert!(
        reason.to_string().contains("connection refused"),
        "{reason}"
    );
    assert!(
        node.steps.iter().all(|step| *step == "Survey"),
        "{:?}",
        node.steps
    );
    assert!(node.control().holds_the_lock() && node.up().is_taken());
}

#[test]
fn a_member_that_heals_in_time_is_given_back() {
    let mut node = back(true);
    node.run();
    node.survey = survey();
    node.pass(30);
    node.run();
    assert_eq!(
        node.steps,
        ["Survey", "Survey", "Release", "Unlock", "Undo"]
    );
}

#[test]
fn an_armed_node_that_waited_looks_at_the_others_again() {
    let mut node = Node::new(Phase::Armed { boot: boot(1) });
    node.up_mut().custody = taken(|_| {});
    let seen = node.now();
    node.control_mut().lock = Lock::Held { seen: seen.clone() };
    node.control_mut().look = Some(Look {
        seen,
        waits: None,
        hurt: None,
        raises: false,
        alone: false,
        needed: false,
    });
    node.pass(301);
    node.step();
    assert_ne!(
        node.steps,
        ["Arm"],
        "the others were last seen five minutes ago"
    );
    assert_eq!(node.up().attempt.tries, 0, "it does not count");
}

#[test]
fn a_record_with_a_control_plane_is_read_as_it_was_written() {
    let mut node = back(true);
    node.run();
    let control = node.control_mut();
    control.raise = Raise::Begun;
    control.yielded = Some(first());
    let since = first();
    let detail = "x".to_owned();
    control.look.as_mut().unwrap().hurt = Some(Hurt { detail, since });
    let text = serde_json::to_string(&node.record).unwrap();
    let read: Record = serde_json::from_str(&text).unwrap();
    assert_eq!(read, node.record);
}
