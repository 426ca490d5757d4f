//! A prepared host without a cluster: careen-host asks for an image, and nobody uses the machine.
//! Deploy, trial and verdict are those of a node, without all that takes a node from its users.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::{boot, deployment, facts, healthy, held, next_with, pinned, quiet};
use upgrade::policy::Policy;
use upgrade::step::Effect;
use upgrade::*;

/// A host in its old system, which reaches the management cluster and is asked for image `b`.
fn host() -> Observation {
    quiet().with(|seen| {
        seen.node = NodeView {
            membership: Membership::Unjoined,
            request: Asked::This(pinned('b')),
            api: Api::Reached {
                since: SinceBoot(20_000),
                version: None,
            },
            ..NodeView::default()
        };
    })
}

/// What a host without a kubelet shows of a trial.
fn on_trial(reached: bool) -> Observation {
    host().with(|seen| {
        seen.turn.boot = boot(2);
        seen.machine.booted = deployment('b');
        seen.machine.trial = true;
        seen.machine.deployments = vec![held('a'), deployment('b')];
        seen.turn.health = healthy();
        if !reached {
            seen.node.api = Api::Away;
            seen.turn.health.ready = Check::Pending("not reached".to_owned());
        }
    })
}

/// A walk of decisions: each step that begins succeeds at once.
struct Walk {
    record: Record,
    policy: Policy,
    steps: Vec<StepKind>,
}

impl Walk {
    fn new(policy: Policy) -> Self {
        Self {
            record: Record::default(),
            policy,
            steps: Vec::new(),
        }
    }

    /// Decides until the host waits or reboots, and returns that act.
    fn go(&mut self, seen: &mut Observation) -> Act {
        for _ in 0..40 {
            let policy = Ok(self.policy.clone());
            let (record, act) = next_with(seen, &self.record, &policy);
            seen.turn.finished = None;
            self.record = record;
            match act {
                Act::Begin(step) => {
                    self.steps.push(step.kind());
                    if matches!(step, Step::Reboot { .. }) {
                        return Act::Begin(step);
                    }
                    let effect = effect(&step, seen);
                    let outcome = Outcome::Done(effect);
                    seen.turn.finished = Some(Finished { step, outcome });
                }
                other => return other,
            }
        }
        panic!("no end: {:?}", self.steps);
    }

    fn phase(&self) -> &'static str {
        self.record.upgrade.as_ref().unwrap().phase.name()
    }
}

/// What a step does to the machine, and its outcome.
fn effect(step: &Step, seen: &mut Observation) -> Effect {
    match step {
        Step::Fetch { .. } => Effect::Fetched {
            commit: scene::digest('b'),
        },
        Step::Verify { .. } => Effect::Verified(facts('b')),
        Step::Deploy { .. } => {
            seen.machine.deployments.push(deployment('b'));
            Effect::Deployed(deployment('b'))
        }
        Step::Arm { .. } => {
            seen.machine.one_shot = OneShot::Set;
            Effect::Plain
        }
        Step::Bless { .. } => {
            seen.machine.deployments.reverse();
            Effect::Plain
        }
        _ => Effect::Plain,
    }
}

/// Walks to the reboot into the trial, and notes what the guard notes there.
fn armed() -> Walk {
    let mut walk = Walk::new(Policy::default());
    let act = walk.go(&mut host());
    assert_eq!(act, Act::Begin(Step::Reboot { force: false }));
    let up = walk.record.upgrade.as_mut().unwrap();
    up.attempt.guarded = Some(boot(2));
    walk
}

#[test]
fn host_without_a_cluster_is_not_drained() {
    let walk = armed();
    use StepKind as K;
    assert_eq!(
        walk.steps,
        [
            K::Fetch,
            K::Verify,
            K::Deploy,
            K::Snapshot,
            K::Arm,
            K::Reboot
        ]
    );
}

#[test]
fn host_that_reaches_its_owner_keeps_the_image() {
    let mut walk = armed();
    walk.steps.clear();
    walk.policy.health.steady_seconds = 0;
    let mut seen = on_trial(true);
    walk.go(&mut seen);
    assert_eq!(walk.phase(), "Upgraded", "{:?}", walk.steps);
    for step in [StepKind::Kubeadm, StepKind::Drain] {
        assert!(!walk.steps.contains(&step), "{:?}", walk.steps);
    }
}

#[test]
fn host_that_does_not_reach_its_owner_falls_back() {
    for alone in [false, true] {
        let mut walk = armed();
        walk.steps.clear();
        walk.policy.health.bless_without_api = alone;
        let mut seen = on_trial(false);
        let act = walk.go(&mut seen);
        assert!(matches!(act, Act::Wait(_)), "{act:?}");
        seen.turn.now = SinceBoot(48 * 3600 * 1000);
        let act = walk.go(&mut seen);
        assert_eq!(act, Act::Begin(Step::Reboot { force: false }), "{alone}");
        assert!(!walk.steps.contains(&StepKind::Bless), "{alone}");
    }
}

#[test]
fn hours_do_not_hold_a_host_that_nobody_uses() {
    let mut walk = Walk::new(Policy::default());
    let hours = &mut walk.policy.window.open;
    hours.push("Sat 02:00-03:00".parse().unwrap());
    let act = walk.go(&mut host());
    assert_eq!(act, Act::Begin(Step::Reboot { force: false }));
}

#[test]
fn request_that_is_withdrawn_ends_the_upgrade_of_a_host() {
    let mut walk = Walk::new(Policy::default());
    let mut seen = host();
    let policy = Ok(walk.policy.clone());
    (walk.record, _) = next_with(&seen, &walk.record, &policy);
    seen.node.request = Asked::Nothing;
    let act = walk.go(&mut seen);
    assert!(matches!(act, Act::Wait(_)), "{act:?}");
    assert_eq!(walk.phase(), "Failed");
}

/// The image, or a fence, has removed the credential of a node whose trial began in its cluster.
#[test]
fn trial_of_a_node_is_not_excused_when_it_leaves_its_cluster() {
    let mut walk = armed();
    walk.steps.clear();
    let up = walk.record.upgrade.as_mut().unwrap();
    up.custody = upgrade::record::Custody::Upgrade(up.custody.take(None));
    let act = walk.go(&mut on_trial(true));
    assert_eq!(act, Act::Begin(Step::Reboot { force: false }));
    assert!(!walk.steps.contains(&StepKind::Bless), "{:?}", walk.steps);
    let up = walk.record.upgrade.as_ref().unwrap();
    let reason = up.attempt.given_up.as_ref().unwrap();
    assert!(!reason.blames_image(), "{reason}");
    assert!(reason.to_string().contains("/etc/kubernetes/kubelet.conf"));
}
