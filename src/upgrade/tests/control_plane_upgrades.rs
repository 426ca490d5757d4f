//! An upgrade of a node that runs a control plane, step by step: before the arming here, after it
//! in `after`, what is left early in `leave`, power cuts in `cuts`, and waits that the policy ends
//! in `patience`.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "control_plane_upgrades/after.rs"]
mod after;
#[path = "control_plane_upgrades/cuts.rs"]
mod cuts;
#[path = "control_plane_upgrades/leave.rs"]
mod leave;
#[path = "control_plane_upgrades/patience.rs"]
mod patience;
mod scene;

use scene::*;
use upgrade::control_plane::{
    Alarm, AlarmKind, Component, Done, EtcdId, Kind, Member, Saved, Source, Survey, Task,
};
use upgrade::policy::{ExternalEtcd, SingleNode};
use upgrade::record::{Control, Hurt, Lock, Look, Raise, Rehearsal, Snapshot};
use upgrade::*;

fn enabled() -> Policy {
    let mut policy = at_once();
    policy.control_plane.enabled = true;
    policy.drain.skip = false;
    policy
}

fn member(id: u64) -> Member {
    Member {
        id: EtcdId(id),
        name: format!("cp-{id}").into(),
        version: None,
        started: true,
        learner: false,
        leader: id == 1,
        lag: Some(0),
        sick: None,
    }
}

/// Three healthy members, whose static pods are at the version of the image.
fn survey() -> Survey {
    let mut survey = Survey::of("node-a".into(), Kind::Stacked, 1);
    survey.me = Some(EtcdId(1));
    survey.members = (1..=3).map(member).collect();
    let version: Version = "v1.36.3".parse().unwrap();
    survey.versions.cluster = Some(version.clone());
    survey.versions.image = Some(version.clone());
    let kubernetes = Component::KUBERNETES.iter();
    survey.versions.manifests = kubernetes.map(|one| (*one, version.clone())).collect();
    survey
}

/// The same before kubeadm has run.
fn older() -> Survey {
    let mut survey = survey();
    let version: Version = "v1.35.4".parse().unwrap();
    survey.versions.cluster = Some(version.clone());
    let manifests = survey.versions.manifests.values_mut();
    manifests.for_each(|one| one.clone_from(&version));
    survey
}

fn saved() -> Saved {
    Saved {
        file: "/var/lib/careen/etcd/u1.db".into(),
        bytes: 1,
        sha256: digest('f'),
        revision: 1,
        removed: Vec::new(),
        no_configuration: None,
    }
}

/// A node of the control plane, and what its careen-control answers.
struct Node {
    seen: Observation,
    record: Record,
    policy: Policy,
    /// The steps so far.
    steps: Vec<&'static str>,
    survey: Survey,
    busy: Option<&'static str>,
}

impl Node {
    fn new(phase: Phase) -> Self {
        let mut record = upgrade_in(phase);
        let up = record.upgrade.as_mut().unwrap();
        up.control = Some(Control::default());
        up.facts.as_mut().unwrap().info.as_mut().unwrap().control = 1;
        let mut seen = asked();
        seen.machine.control_plane = Some(control_plane());
        seen.machine.deployments = vec![held('a'), deployment('b')];
        Self {
            seen,
            record,
            policy: enabled(),
            steps: Vec::new(),
            survey: survey(),
            busy: None,
        }
    }

    /// The new system in its trial, in the turn that the old one has begun.
    fn on_trial() -> Self {
        let mut node = Self::new(Phase::Trial { boot: boot(2) });
        let control_plane = node.seen.machine.control_plane.take();
        node.seen = on_trial();
        node.seen.machine.control_plane = control_plane;
        node.seen.turn.health = healthy();
        node.control_mut().lock = Lock::Held { seen: first() };
        node
    }

    fn up(&self) -> &Upgrade {
        self.record.upgrade.as_ref().unwrap()
    }

    fn up_mut(&mut self) -> &mut Upgrade {
        self.record.upgrade.as_mut().unwrap()
    }

    fn control(&self) -> &Control {
        self.up().control.as_ref().unwrap()
    }

    fn control_mut(&mut self) -> &mut Control {
        self.up_mut().control.as_mut().unwrap()
    }

    fn now(&self) -> Moment {
        let (boot, at) = (self.seen.turn.boot.clone(), self.seen.turn.now);
        Moment { boot, at }
    }

    /// One decision. The step that it begins has ended well by the next one.
    fn step(&mut self) -> Act {
        let (record, act) = next_with(&self.seen, &self.record, &Ok(self.policy.clone()));
        self.record = record;
        self.seen.turn.finished = None;
        if let Act::Begin(step) = &act {
            self.steps.push(step.name());
            let effect = self.effect(step);
            self.seen.turn.finished = finished(step.clone(), Outcome::Done(effect));
        }
        act
    }

    /// Decisions until one waits or the node would reboot.
    fn run(&mut self) -> Act {
        let before = self.steps.len();
        loop {
            match self.step() {
                Act::Begin(Step::Reboot { force }) => return Act::Begin(Step::Reboot { force }),
                Act::Begin(_) => assert!(self.steps.len() < before + 100, "{:?}", self.steps),
                act @ (Act::Wait(_) | Act::Cancel) => return act,
            }
        }
    }

    fn pass(&mut self, seconds: u64) {
        self.seen.turn.now = self.seen.turn.now.plus_seconds(seconds);
    }

    fn effect(&mut self, step: &Step) -> Effect {
        match step {
            Step::Control { task } => Effect::Controlled(self.answer(*task)),
            Step::Rehearse => Effect::Rehearsed { blocked: None },
            Step::Deploy { .. } => Effect::Deployed(deployment('b')),
            Step::Bless { .. } => {
                self.seen.machine.deployments = vec![deployment('b'), held('a')];
                Effect::Plain
            }
            Step::Undo { .. } => {
                self.seen.machine.deployments = vec![held('a')];
                Effect::Plain
            }
            Step::Snapshot => Effect::Saved { pods: None },
            Step::Arm { .. } => {
                self.seen.machine.one_shot = OneShot::Set;
                Effect::Plain
            }
            Step::Fetch { .. }
            | Step::Verify { .. }
            | Step::PreHooks
            | Step::Exclude
            | Step::Drain { .. }
            | Step::Disarm
            | Step::Reboot { .. }
            | Step::Kubeadm
            | Step::Reinstate { .. }
            | Step::PostHooks { .. }
            | Step::Release
            | Step::Unmark
            | Step::Settle
            | Step::Clean
            | Step::Pass => Effect::Plain,
        }
    }

    fn answer(&mut self, task: Task) -> Done {
        match task {
            Task::Survey => Done::Surveyed(Box::new(self.survey.clone())),
            Task::Lock => match self.busy {
                Some(holder) => Done::Busy {
                    holder: holder.into(),
                },
                None => Done::Locked,
            },
            Task::SaveEtcd => Done::SavedEtcd((self.survey.kind == Kind::Stacked).then(saved)),
            Task::Raise => {
                self.survey = survey();
                Done::Raised("v1.36.3".parse().unwrap())
            }
            Task::GiveUp => Done::GivenUp,
            Task::Yield => Done::Yielded,
            Task::Unlock => Done::Unlocked,
        }
    }
}

fn first() -> Moment {
    let (boot, at) = (boot(1), SinceBoot(1_000));
    Moment { boot, at }
}

fn refusal(node: &Node) -> String {
    match &node.up().phase {
        Phase::Failed {
            reason: Reason::ControlPlaneUnfit { finding, .. },
        } => finding.clone(),
        phase => panic!("{phase:?} after {:?}", node.steps),
    }
}

#[test]
fn os_upgrade_locks_looks_saves_and_yields_around_the_drain() {
    let mut node = Node::new(Phase::Verified);
    node.up_mut().to = None;
    assert_eq!(node.run(), Act::Begin(Step::Reboot { force: false }));
    let expected = [
        "Survey", "Rehearse", "Deploy", "Lock", "SaveEtcd", "Drain", "Snapshot", "Yield", "Arm",
        "Reboot",
    ];
    assert_eq!(node.steps, expected);
    let kept = Snapshot::Kept {
        file: "/var/lib/careen/etcd/u1.db".into(),
    };
    assert_eq!(node.control().snapshot, kept);
    assert_eq!(
        node.control().raise,
        Raise::Due,
        "kubeadm had nothing to do"
    );
    assert!(node.control().holds_the_lock(), "over the reboot");
}

#[test]
fn kubeadm_runs_when_load_balancers_have_left_the_node() {
    let mut node = Node::new(Phase::Deployed);
    node.survey = older();
    node.policy.load_balancer.exclude = true;
    node.policy.load_balancer.wait_seconds = 0;
    node.run();
    let expected = [
        "Lock", "Survey", "SaveEtcd", "Exclude", "Raise", "Survey", "Drain", "Snapshot", "Yield",
        "Arm", "Reboot",
    ];
    assert_eq!(node.steps, expected);
    let version = "v1.36.3".parse().unwrap();
    assert_eq!(node.control().raise, Raise::Raised { version });
}

#[test]
fn worker_takes_none_of_these_steps() {
    let mut node = Node::new(Phase::Verified);
    node.up_mut().control = None;
    node.up_mut().to = None;
    node.seen.machine.control_plane = None;
    node.run();
    let expected = ["Rehearse", "Deploy", "Drain", "Snapshot", "Arm", "Reboot"];
    assert_eq!(node.steps, expected);
}

#[test]
fn no_step_of_the_control_plane_is_written_as_an_intent() {
    let mut node = Node::new(Phase::Deployed);
    node.survey = older();
    for _ in 0..12 {
        if let Act::Begin(Step::Control { .. }) = node.step() {
            assert_eq!(node.up().intent, None, "an older agent knows no such step");
        }
    }
    assert!(node.steps.contains(&"Raise"));
}

#[test]
fn lock_and_raise_are_noted_before_they_begin() {
    let mut node = Node::new(Phase::Deployed);
    node.survey = older();
    while node.steps.last() != Some(&"Lock") {
        node.step();
    }
    assert_eq!(node.control().lock, Lock::Asked);
    while node.steps.last() != Some(&"Raise") {
        node.step();
    }
    assert_eq!(node.control().raise, Raise::Begun);
}

#[test]
fn second_member_waits_for_its_turn_and_then_goes_on() {
    let mut node = Node::new(Phase::Deployed);
    node.busy = Some("cp-2/7");
    let Act::Wait(Some(until)) = node.run() else {
        panic!("{:?}", node.steps)
    };
    assert_eq!(node.steps, ["Lock"]);
    let waits = node.up().waits.clone().unwrap();
    assert!(waits.to_string().contains("cp-2/7"), "{waits}");
    assert!(!node.up().is_taken() && !node.control().holds_the_lock());
    node.seen.turn.now = until;
    node.busy = None;
    node.run();
    assert_eq!(node.steps[1..4], ["Lock", "Survey", "SaveEtcd"]);
}

#[test]
fn a_sick_member_holds_the_node_until_it_heals() {
    let mut node = Node::new(Phase::Deployed);
    node.survey.members[2].sick = Some("no route".into());
    let Act::Wait(Some(until)) = node.run() else {
        panic!("{:?}", node.steps)
    };
    assert_eq!(node.steps, ["Lock", "Survey"]);
    assert!(matches!(
        node.up().waits,
        Some(Reason::ControlPlaneWaits { ref finding, .. }) if finding == "QuorumAtRisk"
    ));
    node.seen.turn.now = until;
    node.run();
    assert_eq!(node.steps, ["Lock", "Survey", "Survey"], "it is still sick");
    node.survey = survey();
    node.pass(30);
    node.run();
    assert!(node.steps.contains(&"Reboot"));
}

#[test]
fn quorum_is_counted_again_between_drain_and_arming() {
    let mut node = Node::new(Phase::Drained);
    node.up_mut().custody = taken(|_| {});
    node.control_mut().lock = Lock::Held { seen: node.now() };
    node.survey.members[1].sick = Some("no route".into());
    assert!(matches!(node.run(), Act::Wait(Some(_))));
    assert_eq!(node.steps, ["Snapshot", "Yield", "Survey"]);
    assert_eq!(node.up().phase, Phase::Drained);
}

#[test]
fn node_that_somebody_uncordoned_is_drained_after_another_look() {
    let mut node = Node::new(Phase::Drained);
    node.up_mut().custody = taken(|_| {});
    node.seen.turn.boot = boot(3);
    node.control_mut().lock = Lock::Held { seen: first() };
    node.seen.node.uncordoned = true;
    while node.steps.last() != Some(&"Drain") {
        node.step();
    }
    assert_eq!(node.steps, ["Lock", "Survey", "SaveEtcd", "Drain"]);
}

#[test]
fn lock_that_another_node_took_holds_the_drained_node() {
    let mut node = Node::new(Phase::Deployed);
    while node.steps.last() != Some(&"Snapshot") {
        node.step();
    }
    // A person has removed the lock meanwhile, and another member was faster.
    node.busy = Some("cp-2/8");
    node.pass(91);
    assert!(matches!(node.run(), Act::Wait(Some(_))));
    assert!(!node.steps.contains(&"Arm"), "{:?}", node.steps);
    let waits = node.up().waits.clone().unwrap().to_string();
    assert!(waits.contains("cp-2/8"), "{waits}");
    node.busy = None;
    node.pass(30);
    node.run();
    let again = ["Lock", "Yield", "Survey", "Arm", "Reboot"];
    assert!(node.steps.ends_with(&again), "{:?}", node.steps);
}

#[test]
fn alarms_refuse_and_two_members_hold_before_the_deployment() {
    let mut node = Node::new(Phase::Verified);
    node.up_mut().to = None;
    let (member, kind) = (EtcdId(2), AlarmKind::NoSpace);
    node.survey.alarms = vec![Alarm { member, kind }];
    node.run();
    assert_eq!(refusal(&node), "EtcdAlarm");
    assert!(!node.steps.contains(&"Deploy"), "{:?}", node.steps);
    let mut node = Node::new(Phase::Verified);
    node.up_mut().to = None;
    node.survey.members.pop();
    assert!(matches!(node.run(), Act::Wait(Some(_))));
    assert_eq!(node.steps, ["Survey"]);
}

#[test]
fn single_node_goes_on_unless_the_policy_forbids_it() {
    let alone = |single_node| {
        let mut node = Node::new(Phase::Deployed);
        node.survey.members.truncate(1);
        node.policy.control_plane.single_node = single_node;
        node.run();
        node
    };
    assert!(alone(SingleNode::Allow).steps.contains(&"Reboot"));
    let refused = alone(SingleNode::Refuse);
    assert_eq!(refusal(&refused), "SingleMember");
    assert_eq!(refused.steps.last(), Some(&"Undo"));
    assert!(refused.steps.contains(&"Unlock"));
}

#[test]
fn external_etcd_is_not_saved_and_may_be_forbidden() {
    let external = |external_etcd| {
        let mut node = Node::new(Phase::Deployed);
        node.survey.kind = Kind::External;
        node.survey.me = None;
        node.policy.control_plane.external_etcd = external_etcd;
        node.run();
        node
    };
    let allowed = external(ExternalEtcd::Allow);
    assert!(allowed.steps.contains(&"Reboot"), "{:?}", allowed.steps);
    assert_eq!(allowed.control().snapshot, Snapshot::NotHere);
    let refused = external(ExternalEtcd::Refuse);
    assert_eq!(refusal(&refused), "ExternalEtcd");
    assert!(refused.steps.contains(&"Unlock"), "{:?}", refused.steps);
}

#[test]
fn external_etcd_without_a_majority_holds_a_node_that_has_none() {
    let mut node = Node::new(Phase::Deployed);
    node.survey.kind = Kind::External;
    node.survey.me = None;
    node.survey.members[0].sick = Some("no answer".into());
    node.run();
    assert!(node.steps.contains(&"Reboot"), "{:?}", node.steps);
    let mut node = Node::new(Phase::Deployed);
    node.survey.kind = Kind::External;
    node.survey.me = None;
    for member in &mut node.survey.members[..2] {
        member.sick = Some("no answer".into());
    }
    assert!(matches!(node.run(), Act::Wait(Some(_))));
    assert!(!node.steps.contains(&"Drain"), "{:?}", node.steps);
}

/// Hours that are over.
fn closed() -> window::Window {
    let opens = serde_json::json!({ "window": { "open": ["Mon 01:00-01:05"] } });
    serde_json::from_value::<Policy>(opens).unwrap().window
}

/// kubeadm runs, and nobody knows its outcome.
fn raising() -> Node {
    let mut node = Node::new(Phase::Deployed);
    node.survey = older();
    while node.control().raise != Raise::Begun {
        node.step();
    }
    node.seen.turn.finished = None;
    node.steps.clear();
    node
}

/// kubeadm has run well, some time ago.
fn raised() -> Node {
    let mut node = Node::new(Phase::Deployed);
    node.survey = older();
    while !matches!(node.control().raise, Raise::Raised { .. }) {
        node.step();
    }
    // The look that followed was good.
    node.step();
    node.pass(400);
    node.steps.clear();
    node
}

#[test]
fn raised_node_whose_etcd_cannot_be_asked_is_not_armed() {
    for source in [Source::Credential, Source::Etcd, Source::Manifest] {
        let mut node = raised();
        node.survey.miss(source, "no such file");
        node.survey.me = None;
        for _ in 0..20 {
            assert!(matches!(node.run(), Act::Wait(_)), "{source:?}");
            node.pass(30);
        }
        assert!(!node.steps.contains(&"Arm"), "{source:?}: {:?}", node.steps);
        node.survey = survey();
        assert_eq!(node.run(), Act::Begin(Step::Reboot { force: false }));
    }
}

#[test]
fn raised_node_that_stays_hurt_halts_before_it_is_armed() {
    let mut node = raised();
    node.survey.own_not_ready = vec![Component::ApiServer];
    for _ in 0..40 {
        assert!(matches!(node.run(), Act::Wait(_)), "{:?}", node.steps);
        node.pass(30);
    }
    let Phase::Halted { reason } = &node.up().phase else {
        panic!("{:?} after {:?}", node.up().phase, node.steps)
    };
    assert!(matches!(reason, Reason::ControlPlaneHurt { .. }));
    assert!(!node.steps.contains(&"Arm") && node.control().holds_the_lock());
}

#[test]
fn raise_that_took_the_api_server_away_goes_on() {
    let mut node = raising();
    node.seen.node.api = Api::Away;
    node.step();
    assert_eq!(node.steps, ["Raise"], "nobody else repairs its manifests");
}

#[test]
fn raise_that_hurts_its_own_member_is_tried_and_then_halts() {
    let mut node = raising();
    for _ in 0..80 {
        let act = node.step();
        node.survey.miss(Source::Etcd, "connection refused");
        if act == Act::Begin(Step::Control { task: Task::Raise }) {
            let failed = Reason::RaiseFailed { detail: "x".into() };
            let raise = Step::Control { task: Task::Raise };
            node.seen.turn.finished = finished(raise, Outcome::Failed(failed));
        }
        node.pass(30);
    }
    let raises = node.steps.iter().filter(|step| **step == "Raise").count();
    assert!(raises > 1, "{:?}", node.steps);
    let Phase::Halted { reason } = &node.up().phase else {
        panic!("{:?} after {:?}", node.up().phase, node.steps)
    };
    assert!(matches!(reason, Reason::ControlPlaneHurt { .. }));
    assert!(node.control().holds_the_lock());
}

#[test]
fn a_worker_that_became_a_control_plane_is_not_tried() {
    let mut node = Node::new(Phase::Deployed);
    node.up_mut().control = None;
    node.run();
    let Phase::Failed { reason } = &node.up().phase else {
        panic!("{:?}", node.up().phase)
    };
    assert!(matches!(reason, Reason::ControlPlane { .. }), "{reason}");
}

#[test]
fn server_that_is_away_costs_no_try_of_lock_or_survey() {
    for phase in [Phase::Verified, Phase::Deployed] {
        let mut node = Node::new(phase);
        node.up_mut().rehearsal = Rehearsal::Held { blocked: None };
        node.seen.node.api = Api::Away;
        assert!(matches!(node.run(), Act::Wait(_)));
        assert!(node.steps.is_empty(), "{:?}", node.steps);
    }
}

#[test]
fn an_image_that_knows_no_control_plane_is_refused() {
    let mut node = Node::new(Phase::Deployed);
    node.up_mut().facts = Some(facts('b'));
    node.run();
    let Phase::Failed { reason } = &node.up().phase else {
        panic!("{:?}", node.up().phase)
    };
    assert!(
        matches!(reason, Reason::ControlNotCarried { .. }),
        "{reason}"
    );
    assert!(!node.steps.contains(&"Lock"), "{:?}", node.steps);
}

#[test]
fn leadership_that_cannot_be_moved_stops_nothing() {
    let mut node = Node::new(Phase::Drained);
    node.up_mut().custody = taken(|_| {});
    node.control_mut().lock = Lock::Held { seen: node.now() };
    while node.steps.last() != Some(&"Yield") {
        node.step();
    }
    let task = Task::Yield;
    let died = task.failed(&"killed");
    node.seen.turn.finished = finished(Step::Control { task }, Outcome::Failed(died));
    node.run();
    assert!(node.steps.contains(&"Reboot"), "{:?}", node.steps);
}
