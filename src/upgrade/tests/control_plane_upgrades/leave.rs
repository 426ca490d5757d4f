//! An upgrade of a control plane that is withdrawn, or whose hours end: what was begun ends first.

use super::*;

#[test]
fn an_upgrade_that_is_withdrawn_after_the_lock_releases_it() {
    let mut node = Node::new(Phase::Deployed);
    while !node.control().holds_the_lock() {
        node.step();
    }
    node.seen.node.request = Asked::Nothing;
    node.run();
    assert!(matches!(node.up().phase, Phase::Failed { .. }));
    assert!(!node.control().holds_the_lock());
    assert_eq!(node.steps, ["Lock", "Release", "Unlock", "Undo"]);
}

#[test]
fn raise_that_is_withdrawn_is_given_up_before_the_release() {
    let mut node = Node::new(Phase::Deployed);
    node.survey = older();
    while node.control().raise != Raise::Begun {
        node.step();
    }
    // kubeadm runs to its end, whatever is asked for meanwhile.
    node.seen.node.request = Asked::Nothing;
    let raise = Step::Control { task: Task::Raise };
    node.seen.turn.finished = None;
    node.seen.turn.running = Some(raise.clone());
    assert_eq!(node.step(), Act::Wait(None));
    let failed = Reason::RaiseFailed { detail: "x".into() };
    node.seen.turn.running = None;
    node.seen.turn.finished = finished(raise, Outcome::Failed(failed));
    node.steps.clear();
    node.run();
    node.pass(60);
    node.run();
    assert_eq!(
        node.steps,
        ["GiveUpRaise", "Survey", "Release", "Unlock", "Undo"]
    );
    assert_eq!(node.control().raise, Raise::GivenUp);
}

#[test]
fn lock_whose_release_has_no_answer_is_taken_again() {
    let mut node = Node::new(Phase::Deployed);
    while node.steps.last() != Some(&"SaveEtcd") {
        node.step();
    }
    let open = std::mem::replace(&mut node.policy.window, closed());
    while node.steps.last() != Some(&"Unlock") {
        node.step();
    }
    assert_eq!(node.control().lock, Lock::Asked, "it may be gone");
    let task = Task::Unlock;
    let died = task.failed(&"no answer");
    node.seen.turn.finished = finished(Step::Control { task }, Outcome::Failed(died));
    node.policy.window = open;
    node.step();
    node.pass(60);
    node.steps.clear();
    node.run();
    assert_eq!(node.steps[..2], ["Lock", "SaveEtcd"], "it is another turn");
}

/// The old system after a trial without a verdict, outside of the hours.
fn after_a_trial() -> Node {
    let mut node = Node::new(Phase::Drained);
    node.seen.turn.boot = boot(3);
    node.policy.window = closed();
    node.up_mut().custody = taken(|_| {});
    node.up_mut().attempt.tries = 1;
    node.control_mut().lock = Lock::Held { seen: first() };
    node
}

#[test]
fn hours_that_end_after_a_trial_release_no_hurt_member() {
    let mut node = after_a_trial();
    node.run();
    assert_eq!(node.steps, ["Survey", "Release", "Unlock"]);
    let mut node = after_a_trial();
    node.survey.miss(Source::Etcd, "connection refused");
    for _ in 0..40 {
        assert!(matches!(node.run(), Act::Wait(_)));
        node.pass(30);
    }
    assert!(matches!(node.up().phase, Phase::Halted { .. }));
    assert!(node.control().holds_the_lock() && node.up().is_taken());
}

#[test]
fn hours_that_end_after_the_raise_go_on_without_another() {
    let mut node = Node::new(Phase::Deployed);
    node.survey = older();
    while !matches!(node.control().raise, Raise::Raised { .. }) {
        node.step();
    }
    let open = std::mem::replace(&mut node.policy.window, closed());
    node.run();
    let given_back = ["Raise", "Survey", "Release", "Unlock"];
    assert!(node.steps.ends_with(&given_back), "{:?}", node.steps);
    assert!(!node.up().is_taken() && !node.control().holds_the_lock());
    assert!(matches!(node.control().raise, Raise::Raised { .. }));
    node.pass(3600);
    node.policy.window = open;
    node.steps.clear();
    node.run();
    let expected = [
        "Lock", "Survey", "SaveEtcd", "Drain", "Snapshot", "Yield", "Arm", "Reboot",
    ];
    assert_eq!(node.steps, expected);
}

#[test]
fn hours_that_end_after_the_lock_release_it() {
    let mut node = Node::new(Phase::Deployed);
    while node.steps.last() != Some(&"SaveEtcd") {
        node.step();
    }
    node.policy.window = closed();
    node.run();
    assert_eq!(node.steps.last(), Some(&"Unlock"), "{:?}", node.steps);
    assert_eq!(node.up().phase, Phase::Deployed);
    assert_eq!(
        node.control().asking().snapshot,
        Snapshot::Due,
        "the next turn has its own"
    );
}
