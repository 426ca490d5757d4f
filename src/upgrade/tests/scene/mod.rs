//! A node to look at: observations and records that the tests vary.
#![allow(dead_code, clippy::unwrap_used, missing_docs)]

pub mod layers;
pub mod page;
pub mod reasons;

use upgrade::control_plane::Task;
use upgrade::record::{Custody, Rehearsal, Taken};
use upgrade::*;

pub const WALL: u64 = 1_800_000_000;

pub fn digest(letter: char) -> Digest {
    letter.to_string().repeat(64).parse().unwrap()
}

pub fn deployment(letter: char) -> Deployment {
    Deployment {
        digest: digest(letter),
        serial: 0,
        stateroot: "debian".into(),
        bootcsum: letter.to_string().repeat(64),
        pinned: false,
        kept: false,
    }
}

/// The same, pinned by Careen: as the old system is from the deployment on.
pub fn held(letter: char) -> Deployment {
    Deployment {
        pinned: true,
        kept: true,
        ..deployment(letter)
    }
}

pub fn boot(number: u32) -> BootId {
    format!("b007{number}").parse().unwrap()
}

pub fn raw(image: &str) -> RawRequest {
    RawRequest::scheduled(image)
}

pub fn pinned(letter: char) -> RawRequest {
    raw(&format!("ostree:careen:os@{}", digest(letter)))
}

pub fn facts(letter: char) -> ImageFacts {
    ImageFacts {
        commit: digest(letter),
        info: Some(ImageInfo {
            format: 1,
            kubernetes: "v1.36.3".parse().unwrap(),
            architecture: "x86_64".into(),
            stage: Some(1),
            control: 0,
        }),
        kernel: Some("6.12".into()),
        timestamp: 0,
        running: None,
        lacks: Box::default(),
        branches: Box::default(),
        running_branches: Box::default(),
        root: Room { need: 1, free: 2 },
        boot: Room { need: 1, free: 2 },
    }
}

/// The old system `a`, quiet, its API server at v1.36.3, nobody asking for anything.
pub fn quiet() -> Observation {
    Observation {
        machine: Machine {
            version: Some("v1.35.4".parse().unwrap()),
            deployments: vec![held('a')],
            ..Machine::quiet(deployment('a'))
        },
        node: NodeView {
            name: Some("node-a".into()),
            request: Asked::Nothing,
            api: Api::Reached {
                since: SinceBoot(20_000),
                version: Some("v1.36.3".parse().unwrap()),
            },
            ..NodeView::default()
        },
        turn: Turn {
            started: SinceBoot(5_000),
            wall: WALL,
            ..Turn::quiet(Home::Agent, boot(1), SinceBoot(100_000))
        },
    }
}

/// What shows a control plane whose deployments share one /etc/kubernetes.
pub fn control_plane() -> ControlPlaneSeen {
    ControlPlaneSeen {
        sign: "etcd.yaml".to_owned(),
        shared: Ok(()),
    }
}

/// The same, asked for image `b`.
pub fn asked() -> Observation {
    quiet().with(|seen| seen.node.request = Asked::This(pinned('b')))
}

/// The new system `b` on trial in boot 2, asked for.
pub fn on_trial() -> Observation {
    asked().with(|seen| {
        seen.turn.boot = boot(2);
        seen.machine.booted = deployment('b');
        seen.machine.trial = true;
        seen.machine.deployments = vec![held('a'), deployment('b')];
    })
}

pub fn healthy() -> Health {
    Health {
        runtime: Check::Pass,
        kubelet: Check::Pass,
        sandbox: Check::Pass,
        credential: Check::Pass,
        kubeadm: Check::Pass,
        ready: Check::Pass,
        version: Check::Pass,
        pod_network: Check::Pass,
        required: vec![],
        causes: Causes::default(),
    }
}

/// What a node says whose kubelet runs on what the trial of `u1` has left.
/// A check that everybody may write.
pub fn untrusted() -> Reason {
    Reason::CheckUntrusted {
        name: "50-storage".into(),
        detail: "not run as root: its mode is 0777".into(),
    }
}

pub fn owed() -> Reason {
    Reason::StateOwed {
        id: "u1".into(),
        detail: "No space left on device".into(),
        kept: "/sysroot/ostree/careen/snapshot-u1".into(),
    }
}

/// An upgrade from `a` to `b` in this phase, as far as the phase implies.
pub fn upgrade_in(phase: Phase) -> Record {
    let request = pinned('b');
    let target = request.image.as_deref().unwrap().parse().unwrap();
    let mut up = Upgrade::new("u1".parse().unwrap(), request, target, deployment('a'));
    up.from_version = Some("v1.35.4".parse().unwrap());
    let early = matches!(phase, Phase::Accepted | Phase::Fetched);
    up.facts = (!early).then(|| facts('b'));
    let deployed = !early && phase != Phase::Verified;
    up.to = deployed.then(|| deployment('b'));
    up.signatures = (phase != Phase::Accepted).then(|| (&Policy::default()).into());
    if deployed {
        up.rehearsal = Rehearsal::Held { blocked: None };
    }
    let armed = deployed && !matches!(phase, Phase::Deployed | Phase::Drained);
    up.attempt.saved = armed;
    up.attempt.tries = u32::from(armed);
    if let Phase::Trial { boot } | Phase::Healthy { boot } = &phase {
        up.attempt.guarded = Some(boot.clone());
    }
    // In the boot of `on_trial`.
    up.attempt.kubeadm.configured = (phase == Phase::Blessed).then(|| boot(2));
    up.phase = phase;
    Record {
        upgrade: Some(up),
        ..Record::default()
    }
}

/// A drain that nobody began before.
pub fn drain() -> Step {
    Step::Drain { spent_seconds: 0 }
}

/// Taken from its users, with these marks of it.
pub fn taken(marks: impl FnOnce(&mut Taken)) -> Custody {
    let mut taken = Taken::default();
    marks(&mut taken);
    Custody::Upgrade(taken)
}

/// Given back to its users.
pub fn given_back() -> Custody {
    Custody::GivenBack {
        hooks_due: false,
        since: None,
    }
}

/// Every phase once, armed in boot 1 and tried in boot 2.
pub fn phases() -> Vec<Phase> {
    let reason = Reason::Withdrawn { replaced_by: None };
    vec![
        Phase::Accepted,
        Phase::Fetched,
        Phase::Verified,
        Phase::Deployed,
        Phase::Drained,
        Phase::Armed { boot: boot(1) },
        Phase::Trial { boot: boot(2) },
        Phase::Healthy { boot: boot(2) },
        Phase::Blessed,
        Phase::Upgraded,
        Phase::Reverting {
            reason: reason.clone(),
        },
        Phase::Failed {
            reason: reason.clone(),
        },
        Phase::Halted { reason },
    ]
}

/// Holds the last record that was stored.
#[derive(Default)]
pub struct Memory(pub Option<Record>);

impl RecordStore for Memory {
    type Error = std::convert::Infallible;
    fn store(&mut self, record: &Record) -> Result<(), Self::Error> {
        self.0 = Some(record.clone());
        Ok(())
    }
}

/// Decides, and returns the record as it is afterwards with the act.
pub fn next_with(seen: &Observation, record: &Record, policy: &PolicyRead) -> (Record, Act) {
    let decision = decide(seen, &Ok(record.clone()), policy);
    let (stored, act) = decision.commit(&mut Memory::default()).unwrap();
    (stored.unwrap_or_else(|| record.clone()), act)
}

pub fn next(seen: &Observation, record: &Record) -> (Record, Act) {
    next_with(seen, record, &Ok(at_once()))
}

/// The policy's defaults, under which one pass of all checks is a verdict.
pub fn at_once() -> Policy {
    let mut policy = Policy::default();
    policy.health.steady_seconds = 0;
    policy
}

pub fn phase_of(record: &Record) -> Phase {
    record.upgrade.as_ref().unwrap().phase.clone()
}

pub fn just_armed() -> Option<Finished> {
    let deployment = on_trial().machine.booted;
    finished(Step::Arm { deployment }, Outcome::Done(Effect::Plain))
}

pub fn finished(step: Step, outcome: Outcome) -> Option<Finished> {
    Some(Finished { step, outcome })
}

/// The step that is begun, by name.
pub fn begun(act: &Act) -> Option<&'static str> {
    match act {
        Act::Begin(step) => Some(step.name()),
        Act::Cancel | Act::Wait(_) => None,
    }
}

/// Every step, with what it brings about when it goes well.
pub fn steps() -> Vec<(Step, Effect)> {
    let commit = || digest('b');
    let target = "ostree:careen:os".parse().unwrap();
    let telling = [
        (Step::Fetch { target }, Effect::Fetched { commit: commit() }),
        (
            Step::Verify { commit: commit() },
            Effect::Verified(facts('b')),
        ),
        (Step::Rehearse, Effect::Rehearsed { blocked: None }),
        (
            Step::Deploy { commit: commit() },
            Effect::Deployed(deployment('b')),
        ),
        (
            drain(),
            Effect::Drained {
                serving: Serving {
                    node: Some(serving::Offer::default()),
                    ..Serving::default()
                },
            },
        ),
    ];
    let deployment = deployment('b');
    let plain = [
        Step::PreHooks,
        Step::Exclude,
        Step::Snapshot,
        Step::Arm { deployment },
        Step::Disarm,
        Step::Reboot { force: false },
        Step::Reboot { force: true },
        Step::Kubeadm,
        Step::Bless {
            commit: commit(),
            over: None,
        },
        Step::Reinstate {
            deployment: crate::scene::deployment('a'),
            over: crate::scene::deployment('b'),
        },
        Step::PostHooks { upgraded: false },
        Step::PostHooks { upgraded: true },
        Step::Release,
        Step::Unmark,
        Step::Settle,
        Step::Undo { commit: None },
        Step::Undo {
            commit: Some(commit()),
        },
        Step::Clean,
        Step::Pass,
    ];
    let control = Task::ALL.map(|task| Step::Control { task });
    let plain = plain.into_iter().chain(control);
    let plain = plain.map(|step| (step, Effect::Plain));
    telling.into_iter().chain(plain).collect()
}
