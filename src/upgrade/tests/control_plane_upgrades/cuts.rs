//! Power cuts and agents that die in the turn of a control-plane node.

use super::*;

/// The power is gone, and the old system boots: the attempt was counted before the trial.
fn falls_back(node: &mut Node, number: u32) {
    node.seen = asked();
    node.seen.machine.control_plane = Some(control_plane());
    node.seen.machine.deployments = on_trial().machine.deployments;
    node.seen.turn.boot = boot(number);
    node.steps.clear();
}

/// The new system boots, and its API server serves before kubeadm has run.
fn is_tried(node: &mut Node, number: u32) {
    node.seen = on_trial();
    node.seen.machine.control_plane = Some(control_plane());
    node.seen.turn.boot = boot(number);
    node.seen.turn.health = healthy();
    let waits = "it runs when the API server of this node serves";
    node.seen.turn.health.kubeadm = Check::Fail(waits.into());
    let up = node.up_mut();
    (up.phase, up.attempt.guarded) = (Phase::Trial { boot: boot(number) }, Some(boot(number)));
    node.steps.clear();
}

/// Decisions until this step begins.
fn until(node: &mut Node, step: &str) {
    for _ in 0..20 {
        node.step();
        if node.steps.last() == Some(&step) {
            return;
        }
    }
    panic!("no {step}: {:?}", node.steps);
}

/// `careen-restore` has put the kubelet's configuration back before the old kubelet
/// started. Nothing of kubeadm's goes on in the old system.
#[test]
fn cut_in_the_late_kubelet_config_leaves_only_another_trial() {
    let mut node = Node::on_trial();
    is_tried(&mut node, 2);
    until(&mut node, "Kubeadm");
    falls_back(&mut node, 3);
    assert_eq!(node.run(), Act::Begin(Step::Reboot { force: false }));
    let place = |step: &str| node.steps.iter().position(|one| *one == step);
    let [lock, survey, arm] = ["Lock", "Survey", "Arm"].map(|step| place(step).unwrap());
    assert!(lock < arm && survey < arm, "{:?}", node.steps);
    for step in ["Kubeadm", "Raise", "GiveUpRaise", "Release", "Unlock"] {
        assert_eq!(place(step), None, "{step}: {:?}", node.steps);
    }
    assert!(node.control().holds_the_lock(), "its turn is not over");

    is_tried(&mut node, 4);
    until(&mut node, "Kubeadm");
    node.seen.turn.health.kubeadm = Check::Pass;
    node.run();
    assert_eq!(node.up().phase, Phase::Upgraded, "{:?}", node.steps);
}

/// The unit of the raise lives on, and its name is the same: the next agent's raise
/// follows it.
#[test]
fn agent_that_died_in_a_raise_goes_on_with_the_raise() {
    for has_looked in [true, false] {
        let mut node = raising();
        if !has_looked {
            node.control_mut().look = None;
        }
        node.seen.turn.started = node.seen.turn.now;
        until(&mut node, "Raise");
        let harmless = ["Lock", "Survey", "SaveEtcd", "Raise"];
        let mut steps = node.steps.iter();
        assert!(
            steps.all(|step| harmless.contains(step)),
            "{:?}",
            node.steps
        );
        assert_eq!(node.control().raise, Raise::Begun);
    }
}

/// The static pods, and so etcd, stay as the raise has left them: the old system has
/// nothing to do with them but to look.
#[test]
fn fallback_after_a_raise_leaves_the_new_etcd_in_its_place() {
    let mut node = Node::new(Phase::Reverting {
        reason: Reason::UnguardedBoot,
    });
    falls_back(&mut node, 3);
    node.up_mut().custody = taken(|_| {});
    let version: Version = "v1.36.3".parse().unwrap();
    node.control_mut().raise = Raise::Raised { version };
    node.control_mut().lock = Lock::Held { seen: first() };
    node.run();
    assert_eq!(node.steps, ["Survey", "Release", "Unlock", "Undo"]);
    assert!(matches!(node.control().raise, Raise::Raised { .. }));
    assert!(matches!(node.up().phase, Phase::Failed { .. }));
}
