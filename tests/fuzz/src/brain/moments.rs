//! The moments in which the brain sees a record.

use upgrade::phase::Class;
use upgrade::window::Hours;
use upgrade::{
    Api, Asked, BootId, Causes, Check, Deployment, Finished, Health, Home, Hooks, Machine,
    NoNetwork, NodeView, Observation, OneShot, Outcome, Phase, Policy, Reason, Record, SinceBoot,
    Step, Turn, Unsound, Upgrade,
};

/// In a trial: an early moment, and one after its deadline.
const MOMENTS: [SinceBoot; 2] = [SinceBoot(60_000), SinceBoot(5_000_000)];

/// An operator who wants upgrades at night, and systems that were healthy for a while. It is
/// morning.
pub fn careful() -> Policy {
    let mut policy = Policy::default();
    policy
        .window
        .open
        .extend("daily 01:00-02:00".parse::<Hours>());
    policy.health.soak_seconds = 300;
    policy
}

/// Each kind of moment.
pub fn moments(record: &Record) -> Vec<Observation> {
    let up = record.upgrade.as_ref();
    let mut moments = alone(up);
    if let Some((up, to)) = up.and_then(|up| up.to.as_ref().map(|to| (up, to))) {
        moments.extend(in_the_old_system(up, to));
        moments.extend(in_the_new_system(up, to));
    }
    moments
}

/// With one system on the disk, which may or may not belong to this upgrade, and no API server.
fn alone(up: Option<&Upgrade>) -> Vec<Observation> {
    let systems = [
        up.map(|up| up.from.clone()),
        up.and_then(|up| up.to.clone()),
        foreign(),
    ];
    let asked = [
        Asked::Unknown,
        Asked::Nothing,
        up.map_or(Asked::Nothing, |up| Asked::This(up.request.clone())),
    ];
    let mut moments = Vec::new();
    for booted in systems.into_iter().flatten() {
        for request in &asked {
            for (home, trial, fails) in [
                (Home::Agent, false, false),
                (Home::Agent, true, true),
                (Home::Stage, true, false),
            ] {
                let failed = up.and_then(|up| up.intent.clone()).filter(|_| fails);
                moments.push(calm(booted.clone()).with(|seen| {
                    seen.turn.home = home;
                    seen.machine.trial = trial;
                    seen.node.request = request.clone();
                    seen.turn.finished = failed.map(it_failed);
                }));
            }
        }
    }
    moments
}

fn it_failed(step: Step) -> Finished {
    Finished {
        step,
        outcome: Outcome::Failed(Reason::ApiAway {
            detail: "no route".to_owned(),
        }),
    }
}

/// Before or after the trial, with the new system next to the old one.
fn in_the_old_system(up: &Upgrade, to: &Deployment) -> Vec<Observation> {
    let held = Deployment {
        pinned: true,
        ..up.from.clone()
    };
    let seen = || {
        reached(up, &up.from).with(|seen| seen.machine.deployments = vec![held.clone(), to.clone()])
    };
    vec![
        seen(),
        seen().with(|seen| seen.machine.one_shot = OneShot::Set),
        seen().with(|seen| {
            seen.machine.etc_stale = true;
            seen.node.uncordoned = true;
            seen.node.name = Some("other".to_owned());
        }),
        seen().with(|seen| {
            seen.machine.staged = true;
            seen.node.own_cordon = true;
            seen.node.own_exclusion = true;
            seen.node.shielded = true;
            seen.node.stale_mark = true;
        }),
        seen().with(|seen| {
            seen.node.api = Api::Away;
            seen.turn.network = Ok(());
            seen.turn.now = MOMENTS[1];
        }),
    ]
}

/// On trial in every state of health, blessed, and overruled by a person's own default.
fn in_the_new_system(up: &Upgrade, to: &Deployment) -> Vec<Observation> {
    let seen = || {
        reached(up, to).with(|seen| {
            seen.machine.trial = true;
            seen.machine.deployments = vec![up.from.clone(), to.clone()];
        })
    };
    let mut moments: Vec<_> = healths()
        .into_iter()
        .flat_map(|health| MOMENTS.map(|now| (health.clone(), now)))
        .flat_map(|(health, now)| {
            let seen = seen().with(|seen| {
                seen.turn.health = health;
                seen.turn.now = now;
            });
            let away = seen.clone().with(|seen| seen.node.api = Api::Away);
            let to = "192.0.2.1".to_owned();
            let network = Err(NoNetwork::Route { to });
            let cut_off = away.clone().with(|seen| seen.turn.network = network);
            [seen, away, cut_off]
        })
        .collect();
    moments.extend([
        seen().with(|seen| seen.turn.finished = Some(it_failed(Step::Reboot { force: false }))),
        seen().with(|seen| seen.machine.deployments = vec![to.clone(), up.from.clone()]),
        seen().with(|seen| {
            seen.machine.deployments = foreign()
                .into_iter()
                .chain([up.from.clone(), to.clone()])
                .collect();
            seen.turn.health = all(Check::Pass);
        }),
        seen().with(|seen| {
            seen.turn.home = Home::Stage;
            seen.machine.integrity = Some(Err(Unsound::of_the_disk(
                "usr/bin/kubelet: its content has changed".to_owned(),
            )));
        }),
    ]);
    moments
}

/// In the boot that the record names, with an API server of a newer version than in any record
/// here.
fn reached(up: &Upgrade, booted: &Deployment) -> Observation {
    let calm = calm(booted.clone());
    calm.with(|seen| {
        seen.turn.boot = boot_of(&up.phase)
            .or_else(|| up.attempt.kubeadm.configured.clone())
            .unwrap_or(seen.turn.boot.clone());
        seen.node.request = Asked::This(up.request.clone());
        seen.node.api = Api::Reached {
            since: SinceBoot(30_000),
            version: "v1.36.3".parse().ok(),
        };
        seen.machine.hooks = Hooks {
            pre: true,
            post: true,
        };
    })
}

fn boot_of(phase: &Phase) -> Option<BootId> {
    if let Class::Trying { boot } = phase.class() {
        Some(boot.clone())
    } else {
        None
    }
}

fn healths() -> [Health; 4] {
    let why = || "it does not answer".to_owned();
    [
        Health::unknown(),
        all(Check::Pass),
        // kubeadm has not run yet, so the agent runs it.
        Health {
            kubeadm: Check::Fail(why()),
            ..all(Check::Pass)
        },
        Health {
            required: vec![("10-app".to_owned(), Check::Broken(why()))],
            ..all(Check::Pass)
        },
    ]
}

fn all(check: Check) -> Health {
    Health {
        runtime: check.clone(),
        kubelet: check.clone(),
        sandbox: check.clone(),
        credential: check.clone(),
        kubeadm: check.clone(),
        ready: check.clone(),
        version: check.clone(),
        pod_network: check.clone(),
        required: vec![("10-app".to_owned(), check)],
        causes: Causes::default(),
    }
}

/// An idle node without a request.
#[must_use]
pub fn quiet() -> Option<Observation> {
    let nothing = |seen: Observation| seen.with(|seen| seen.node.request = Asked::Nothing);
    foreign().map(calm).map(nothing)
}

fn foreign() -> Option<Deployment> {
    Some(Deployment {
        digest: "f".repeat(64).parse().ok()?,
        serial: 0,
        stateroot: "debian".to_owned(),
        bootcsum: "0".to_owned(),
        pinned: false,
        kept: false,
    })
}

fn calm(booted: Deployment) -> Observation {
    let boot = "0b1c2d3e-0000-4000-8000-000000000001".parse();
    Observation {
        machine: Machine {
            integrity: Some(Ok(())),
            ..Machine::quiet(booted)
        },
        node: NodeView::default(),
        turn: Turn {
            started: SinceBoot(5_000),
            wall: 1_800_000_000,
            ..Turn::quiet(
                Home::Agent,
                boot.unwrap_or_else(|bad| unreachable!("{bad}")),
                SinceBoot(60_000),
            )
        },
    }
}
