//! Waits for the control plane that the policy ends.

use super::*;

/// A node whose policy lets it wait for ten minutes.
fn patient(phase: Phase) -> Node {
    let mut node = Node::new(phase);
    node.policy.control_plane.wait_seconds = 600;
    node
}

/// The same, while another member is sick.
fn at_risk(phase: Phase) -> Node {
    let mut node = patient(phase);
    node.survey.members[2].sick = Some("no route".into());
    node
}

/// A node that is drained and holds the lock.
fn drained(mut node: Node) -> Node {
    node.up_mut().custody = taken(|_| {});
    let seen = node.now();
    node.control_mut().lock = Lock::Held { seen };
    node
}

/// Decides every 30 s for so long, or until the upgrade has ended.
fn wait(node: &mut Node, seconds: u64) {
    for _ in 0..seconds / 30 {
        node.run();
        node.pass(30);
        if node.up().phase.is_end() {
            return;
        }
    }
}

fn is_waiting(node: &Node) -> bool {
    matches!(node.up().waits, Some(Reason::ControlPlaneWaits { .. })) && !node.up().phase.is_end()
}

#[test]
fn wait_ends_with_its_finding_after_the_time_of_the_policy() {
    let mut node = at_risk(Phase::Deployed);
    wait(&mut node, 600);
    assert!(is_waiting(&node), "{:?}", node.up().phase);
    wait(&mut node, 60);
    assert_eq!(refusal(&node), "QuorumAtRisk");
    let Phase::Failed { reason } = &node.up().phase else {
        panic!("{:?}", node.up().phase)
    };
    let text = reason.to_string();
    assert!(text.contains("cp-3") && text.contains("600 s"), "{text}");
    assert_eq!(node.steps[node.steps.len() - 2..], ["Unlock", "Undo"]);
    assert!(!node.control().holds_the_lock() && !node.up().is_taken());
}

#[test]
fn turns_of_others_end_it_without_touching_their_lock() {
    let mut node = patient(Phase::Deployed);
    node.busy = Some("cp-2/7");
    wait(&mut node, 300);
    // One member's turn follows the other's.
    node.busy = Some("cp-3/8");
    wait(&mut node, 360);
    assert_eq!(refusal(&node), "ControlPlaneBusy");
    assert!(!node.steps.contains(&"Unlock"), "{:?}", node.steps);
    assert_eq!(node.steps.last(), Some(&"Undo"));
}

#[test]
fn without_the_key_a_wait_lasts() {
    let mut node = at_risk(Phase::Verified);
    node.up_mut().to = None;
    node.policy.control_plane.wait_seconds = 0;
    wait(&mut node, 100_000);
    assert!(is_waiting(&node));
    node.policy.control_plane.wait_seconds = 600;
    node.run();
    assert_eq!(refusal(&node), "QuorumAtRisk", "it holds at once");
    assert_eq!(node.steps.last(), Some(&"Undo"));
}

#[test]
fn time_begins_again_where_nobody_looked_and_where_all_is_well() {
    let mut node = at_risk(Phase::Deployed);
    node.policy.control_plane.wait_seconds = 3600;
    wait(&mut node, 3000);
    node.seen.node.paused = Some("an audit".into());
    wait(&mut node, 3600);
    node.seen.node.paused = None;
    wait(&mut node, 3000);
    assert!(is_waiting(&node), "after a pause: {:?}", node.up().phase);
    node.survey = survey();
    while node.steps.last() != Some(&"Drain") {
        node.step();
    }
    assert_eq!(node.control().waiting, None);
}

#[test]
fn drained_node_goes_back_after_a_look_at_its_own_part() {
    for raise in [
        Raise::Due,
        Raise::Raised {
            version: "v1.36.3".parse().unwrap(),
        },
    ] {
        let mut node = drained(at_risk(Phase::Drained));
        node.control_mut().raise = raise.clone();
        wait(&mut node, 660);
        assert_eq!(refusal(&node), "QuorumAtRisk");
        let end = &node.steps[node.steps.len() - 4..];
        assert_eq!(end, ["Survey", "Release", "Unlock", "Undo"], "{raise:?}");
        assert!(!node.control().holds_the_lock() && !node.up().is_taken());
        assert_eq!(
            node.control().raise,
            raise,
            "the static pods stay as they are"
        );
    }
}

#[test]
fn hurt_part_keeps_the_lock_although_the_time_is_over() {
    let mut node = drained(at_risk(Phase::Drained));
    node.up_mut().attempt.tries = 1;
    node.survey.miss(Source::Etcd, "connection refused");
    wait(&mut node, 660);
    assert!(matches!(node.up().phase, Phase::Reverting { .. }));
    wait(&mut node, 1200);
    let Phase::Halted { reason } = &node.up().phase else {
        panic!("{:?} after {:?}", node.up().phase, node.steps)
    };
    assert!(matches!(reason, Reason::ControlPlaneHurt { .. }));
    assert!(node.control().holds_the_lock() && node.up().is_taken());
}

/// The same steps, while each request for the lock fails.
fn wait_without_the_lock(node: &mut Node, seconds: u64) {
    let task = Task::Lock;
    for _ in 0..seconds / 10 {
        if node.up().phase.is_end() {
            return;
        }
        if node.step() == Act::Begin(Step::Control { task }) {
            let failed = task.failed(&"no route");
            node.seen.turn.finished = finished(Step::Control { task }, Outcome::Failed(failed));
        }
        node.pass(10);
    }
}

#[test]
fn lock_at_an_address_that_is_away_costs_no_try() {
    let away = |wait_seconds| {
        let mut node = drained(patient(Phase::Drained));
        node.policy.control_plane.wait_seconds = wait_seconds;
        node.survey.miss(Source::Api, "no route");
        node.pass(91);
        wait_without_the_lock(&mut node, 7200);
        node
    };
    let mut node = away(0);
    assert!(is_waiting(&node), "{:?}", node.up().phase);
    let asked = node.steps.iter().filter(|step| **step == "Lock");
    assert_eq!(asked.count(), 1, "{:?}", node.steps);
    node.survey = survey();
    wait(&mut node, 60);
    assert!(node.steps.contains(&"Reboot"), "{:?}", node.steps);
    assert_eq!(refusal(&away(600)), "ApiAway");
}

#[test]
fn lock_that_fails_beside_a_clean_look_costs_its_tries() {
    let mut node = drained(patient(Phase::Drained));
    node.pass(91);
    wait_without_the_lock(&mut node, 7200);
    let Phase::Failed { reason } = &node.up().phase else {
        panic!("{:?} after {:?}", node.up().phase, node.steps)
    };
    assert!(matches!(reason, Reason::ControlFailed { .. }), "{reason}");
}

/// A raised and drained node. A person has removed its lock, and another upgrade has it.
fn raised_without_the_lock() -> Node {
    let mut node = drained(patient(Phase::Drained));
    let version = "v1.36.3".parse().unwrap();
    node.control_mut().raise = Raise::Raised { version };
    node.busy = Some("cp-2/8");
    node.pass(91);
    node
}

#[test]
fn raised_node_is_looked_at_although_another_has_the_lock() {
    let mut node = raised_without_the_lock();
    wait(&mut node, 660);
    assert_eq!(refusal(&node), "ControlPlaneBusy");
    assert!(node.steps.ends_with(&["Survey", "Release", "Undo"]));
    assert!(!node.steps.contains(&"Unlock"), "{:?}", node.steps);
    let mut node = raised_without_the_lock();
    node.survey.miss(Source::Etcd, "connection refused");
    wait(&mut node, 1800);
    let Phase::Halted { reason } = &node.up().phase else {
        panic!("{:?} after {:?}", node.up().phase, node.steps)
    };
    assert!(matches!(reason, Reason::ControlPlaneHurt { .. }));
    assert!(node.up().is_taken(), "the cordon stays");
}

#[test]
fn raised_node_without_the_lock_is_looked_at_after_hours() {
    let mut node = raised_without_the_lock();
    node.run();
    node.policy.window = closed();
    node.survey.miss(Source::Etcd, "connection refused");
    wait(&mut node, 600);
    assert!(node.up().is_taken(), "{:?}", node.steps);
    node.survey = survey();
    node.run();
    assert!(node.steps.ends_with(&["Survey", "Release"]));
    let surveys = node.steps.len();
    wait(&mut node, 3000);
    assert_eq!(node.steps.len(), surveys, "once it is given back");
}

#[test]
fn raise_that_has_begun_waits_on() {
    let mut node = raising();
    node.policy.control_plane.wait_seconds = 600;
    node.survey.members[2].sick = Some("no route".into());
    node.control_mut().look = None;
    wait(&mut node, 3000);
    assert!(is_waiting(&node), "{:?}", node.up().phase);
    assert_eq!(node.control().raise, Raise::Begun);
}

#[test]
fn hours_that_end_begin_the_time_again() {
    let mut node = at_risk(Phase::Deployed);
    wait(&mut node, 540);
    let open = std::mem::replace(&mut node.policy.window, closed());
    node.run();
    assert_eq!(node.steps.last(), Some(&"Unlock"));
    node.policy.window = open;
    wait(&mut node, 540);
    assert!(is_waiting(&node), "{:?}", node.up().phase);
}
