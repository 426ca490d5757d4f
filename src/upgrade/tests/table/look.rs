//! What the table goes through: what is seen, what is remembered, how a step has ended.

use super::scene::*;
use upgrade::control_plane::Task;
use upgrade::*;

/// A key that is nearly ours.
fn strays() -> Vec<keys::Stray> {
    let pool = [("careen.dev/pool".to_owned(), "x".to_owned())];
    Keys::read(&pool.into(), &[].into()).strays
}

/// One thing more that is seen.
pub fn changed(seen: &Observation) -> Vec<Observation> {
    let changes: [fn(&mut Observation); 46] = [
        |seen| (seen.turn.home, seen.machine.integrity) = (Home::Stage, Some(Ok(()))),
        |seen| {
            (seen.turn.home, seen.machine.integrity) =
                (Home::Stage, Some(Err(Unsound::of_the_disk("x".into()))))
        },
        |seen| seen.turn.home = Home::Stage,
        |seen| seen.turn.running = Some(drain()),
        |seen| {
            seen.turn.running = Some(Step::Bless {
                commit: digest('b'),
                over: None,
            })
        },
        |seen| seen.node.paused = Some("holidays".into()),
        |seen| seen.machine.etc_stale = true,
        |seen| {
            (seen.machine.etc_stale, seen.machine.etc_changed) = (true, Some("/etc/x".into()));
            seen.turn.refused = Some(seen.turn.now);
        },
        |seen| seen.machine.loader = Err(Reason::LoaderUnfit { detail: "x".into() }),
        |seen| seen.machine.local_changes = vec!["layered packages: x".into()],
        |seen| seen.machine.control_plane = Some(control_plane()),
        |seen| seen.machine.watchdog = Err(Reason::NoWatchdog { found: "x".into() }),
        |seen| seen.machine.restored = Err(owed()),
        |seen| seen.machine.checks = Err(untrusted()),
        |seen| seen.machine.staged = true,
        |seen| seen.machine.deployments[0].pinned = false,
        |seen| seen.node.opted_out = Some("mine".into()),
        |seen| seen.node.strays = strays(),
        |seen| seen.node.uncordoned = true,
        |seen| seen.node.own_cordon = true,
        |seen| seen.node.own_exclusion = true,
        |seen| seen.node.shielded = true,
        |seen| seen.node.stale_mark = true,
        |seen| seen.node.name = Some("another".into()),
        |seen| seen.node.membership = Membership::Unjoined,
        |seen| (seen.machine.hooks.pre, seen.machine.hooks.post) = (true, true),
        |seen| seen.machine.version = None,
        |seen| seen.machine.architecture = "aarch64".into(),
        |seen| (seen.turn.now, seen.turn.wall) = (SinceBoot(1_000), 0),
        |seen| seen.turn.started = seen.turn.now,
        // Past every deadline, and past the hold behind it.
        |seen| seen.turn.now = SinceBoot(1_000_000),
        |seen| seen.turn.now = SinceBoot(10_000_000),
        |seen| (seen.node.api, seen.turn.network) = (Api::Away, Err(cut_off())),
        |seen| seen.machine.deployments = ['c', 'a', 'b'].map(held).to_vec(),
        |seen| seen.machine.deployments = vec![held('a')],
        |seen| seen.turn.health.kubelet = Check::Fail("x".into()),
        |seen| seen.turn.health.runtime = Check::Broken("x".into()),
        |seen| {
            let locked_out = (Check::Fail("x".into()), Check::Fail("x".into()));
            (seen.turn.health.kubelet, seen.turn.health.credential) = locked_out;
            seen.turn.health.runtime = Check::Pass;
        },
        |seen| {
            seen.turn.health = Health {
                kubeadm: Check::Fail("x".into()),
                ..healthy()
            };
        },
        |seen| seen.turn.health.required = vec![("disk".into(), Check::Fail("x".into()))],
        |seen| seen.turn.health.required = vec![("disk".into(), Check::Broken("x".into()))],
        |seen| seen.turn.serving = serving(&["x.service"]),
        |seen| seen.turn.clock_set = false,
        |seen| seen.machine.last_trial.end = Some(TrialEnd::Panic),
        |seen| {
            seen.turn.health.causes.runtime = Cause::Node;
            seen.turn.health.runtime = Check::Broken("x".into());
        },
        |seen| {
            // The kubelet waits for kubeadm.
            seen.turn.health.kubelet = Check::Fail("x".into());
            seen.turn.health.runtime = Check::Pass;
            seen.turn.now = SinceBoot(10_000_000);
        },
    ];
    let with = |change: fn(&mut Observation)| {
        let mut seen = seen.clone();
        change(&mut seen);
        seen
    };
    changes.into_iter().map(with).collect()
}

/// A node with these failed units.
fn serving(down: &[&str]) -> Serving {
    let down = down.iter().map(|name| serving::Down {
        name: (*name).to_owned(),
        why: String::new(),
        cause: Cause::Image,
        timed: false,
    });
    Serving {
        node: Some(serving::Offer::default()),
        units: Some(serving::Units {
            down: down.collect(),
            ..serving::Units::default()
        }),
        pod_network: false,
        ..Serving::default()
    }
}

fn cut_off() -> NoNetwork {
    NoNetwork::Route {
        to: "192.0.2.1".into(),
    }
}

/// Records in this phase that carry something from before.
fn burdened(phase: &Phase) -> Vec<Record> {
    let moment = || Moment {
        boot: boot(2),
        at: SinceBoot(200_000),
    };
    let with = |change: &dyn Fn(&mut Upgrade)| {
        let mut record = upgrade_in(phase.clone());
        change(record.upgrade.as_mut().unwrap());
        record
    };
    vec![
        with(&|up| {
            up.retry = Some(upgrade::record::Retry {
                step: StepKind::Disarm.into(),
                tries: 4,
                due: moment(),
                reason: Reason::Withdrawn { replaced_by: None },
            });
        }),
        with(&|up| (up.attempt.hold, up.redo.deploying) = (Some(moment()), true)),
        with(&|up| up.attempt.given_up = Some(Reason::UnguardedBoot)),
        with(&|up| (up.redo.deployed, up.attempt.tries, up.custody) = (9, 9, given_back())),
        with(&|up| up.custody = taken(|taken| taken.node = Some("node-a".into()))),
        with(&|up| up.served = serving(&[])),
        with(&|up| {
            up.api.from_old = true;
            up.signatures = Some(upgrade::record::Signatures {
                unsigned: true,
                signed_by: String::new(),
            });
        }),
    ]
}

/// What is remembered of before, and the policy that holds: with nothing special each policy, with
/// each burden the usual one.
pub fn remembered(phase: &Phase) -> Vec<(Record, PolicyRead)> {
    let usual = || Ok(at_once());
    let burdened = burdened(phase).into_iter().map(|record| (record, usual()));
    let plain = policies().map(|policy| (upgrade_in(phase.clone()), policy));
    plain.into_iter().chain(burdened).collect()
}

fn policies() -> [PolicyRead; 3] {
    let broken = Reason::BadPolicy {
        file: names::POLICY_FILE.into(),
        line: 1,
        column: 1,
        detail: "x".into(),
    };
    [Ok(strict()), Ok(lax()), Err(broken.into())]
}

/// An operator who asks for all that there is.
fn strict() -> Policy {
    let mut policy = Policy {
        require_watchdog: true,
        trials: 1,
        tries: 1,
        skew: 0,
        ..at_once()
    };
    policy.load_balancer.exclude = true;
    policy.health.soak_seconds = 60;
    policy
}

/// An operator who lets everything through.
fn lax() -> Policy {
    let mut policy = Policy {
        unsigned: true,
        unguarded: true,
        downgrade: true,
        ..at_once()
    };
    policy.drain.skip = true;
    policy.health.bless_without_api = true;
    policy
}

/// No step has ended, or one has, in every way in which it can.
pub fn endings() -> Vec<Option<Finished>> {
    let ended = |(step, effect): (Step, Effect)| {
        let ways = ways(effect).into_iter();
        ways.map(move |way| finished(step.clone(), way))
    };
    [None]
        .into_iter()
        .chain(steps().into_iter().flat_map(ended))
        .collect()
}

fn ways(effect: Effect) -> Vec<Outcome> {
    let x = || "x".to_owned();
    let bad = Reason::DeployFailed {
        verb: x(),
        detail: x(),
    };
    let mut ways = vec![
        Outcome::Failed(Reason::ApiAway { detail: x() }),
        Outcome::Failed(bad),
        Outcome::Failed(Reason::UnknownSystem { booted: x() }),
        Outcome::Cancelled,
        Outcome::Done(Effect::Plain),
    ];
    if effect != Effect::Plain {
        ways.push(Outcome::Done(effect));
    }
    ways
}

/// Every class of observation that the table tells apart, for one ending of a step.
pub fn observations(ending: &Option<Finished>) -> Vec<Observation> {
    let mut all = vec![asked().with(|seen| seen.turn.finished = ending.clone())];
    vary(&mut all, &['a', 'b', 'c'], |seen, letter| {
        seen.machine.booted = deployment(*letter)
    });
    vary(&mut all, &[1, 2, 3], |seen, number| {
        seen.turn.boot = boot(*number)
    });
    vary(&mut all, &[false, true], |seen, trial| {
        seen.machine.trial = *trial
    });
    let entries = [OneShot::Clear, OneShot::Set, OneShot::Unreadable];
    vary(&mut all, &entries, |seen, entry| {
        seen.machine.one_shot = *entry
    });
    vary(&mut all, &[Api::Away, quiet().node.api], |seen, api| {
        seen.node.api = api.clone()
    });
    vary(
        &mut all,
        &[['a', 'b'], ['b', 'a']],
        |seen, [first, second]| {
            seen.machine.deployments = vec![held(*first), deployment(*second)];
        },
    );
    // What is asked for matters before the arming alone, health after it alone: so they vary
    // together.
    let together = [
        (asked().node.request, Health::unknown()),
        (Asked::Nothing, healthy()),
        (Asked::Unknown, Health::unknown()),
    ];
    vary(&mut all, &together, |seen, (request, health)| {
        (seen.node.request, seen.turn.health) = (request.clone(), health.clone());
    });
    all
}

/// Multiplies the observations by the values of one thing that is seen.
fn vary<T>(all: &mut Vec<Observation>, values: &[T], set: impl Fn(&mut Observation, &T)) {
    let with = |seen: &Observation, value| {
        let mut seen = seen.clone();
        set(&mut seen, value);
        seen
    };
    *all = all
        .iter()
        .flat_map(|seen| values.iter().map(move |value| (seen, value)))
        .map(|(seen, value)| with(seen, value))
        .collect();
}

/// Everything that is seen, by name.
pub fn fields(seen: &Observation) -> Vec<(&'static str, String)> {
    macro_rules! named {
        ($part:expr, $kind:ident { $($field:ident),* $(,)? }) => {{
            let $kind { $($field),* } = &$part;
            vec![$((stringify!($field), format!("{:?}", $field))),*]
        }};
    }
    let mut fields = named!(
        seen.machine,
        Machine {
            booted,
            version,
            trial,
            deployments,
            one_shot,
            loader,
            watchdog,
            restored,
            checks,
            local_changes,
            control_plane,
            architecture,
            etc_stale,
            etc_changed,
            staged,
            hooks,
            integrity,
            last_trial,
        }
    );
    fields.extend(named!(
        seen.node,
        NodeView {
            membership,
            name,
            request,
            paused,
            opted_out,
            strays,
            uncordoned,
            own_cordon,
            own_exclusion,
            shielded,
            stale_mark,
            api,
        }
    ));
    fields.extend(named!(
        seen.turn,
        Turn {
            home,
            boot,
            now,
            started,
            wall,
            clock_set,
            refused,
            running,
            finished,
            health,
            serving,
            network,
        }
    ));
    fields.extend(checks(&seen.turn.health));
    fields
}

/// Each check of the health by itself.
fn checks(health: &Health) -> Vec<(&'static str, String)> {
    let Health {
        runtime,
        kubelet,
        sandbox,
        credential,
        kubeadm,
        ready,
        version,
        pod_network,
        required,
        causes,
    } = health;
    let mut checks: Vec<_> = [
        ("runtime", runtime),
        ("kubelet", kubelet),
        ("sandbox", sandbox),
        ("credential", credential),
        ("kubeadm", kubeadm),
        ("ready", ready),
        ("kubelet version", version),
        ("pod network", pod_network),
    ]
    .map(|(name, check)| (name, format!("{check:?}")))
    .into();
    checks.push(("required", format!("{required:?}")));
    checks.push(("causes", format!("{causes:?}")));
    checks
}

/// How many forms of steps there are.
pub const STEPS: usize = 31;

/// Each step's place among them; a flag that changes what is done makes two.
pub const fn place_of_step(step: &Step) -> usize {
    match step {
        Step::Fetch { .. } => 0,
        Step::Verify { .. } => 1,
        Step::Rehearse => 2,
        Step::Deploy { .. } => 3,
        Step::PreHooks => 4,
        Step::Exclude => 5,
        Step::Drain { .. } => 6,
        Step::Snapshot => 7,
        Step::Arm { .. } => 8,
        Step::Disarm => 9,
        Step::Reboot { force: false } => 10,
        Step::Reboot { force: true } => 11,
        Step::Kubeadm => 12,
        Step::Bless { .. } => 13,
        Step::PostHooks { upgraded: false } => 14,
        Step::PostHooks { upgraded: true } => 15,
        Step::Release => 16,
        Step::Undo { commit: None } => 17,
        Step::Undo { commit: Some(_) } => 18,
        Step::Clean => 19,
        Step::Pass => 20,
        Step::Unmark => 21,
        Step::Reinstate { .. } => 22,
        Step::Settle => 23,
        Step::Control { task: Task::Survey } => 24,
        Step::Control { task: Task::Lock } => 25,
        Step::Control {
            task: Task::SaveEtcd,
        } => 26,
        Step::Control { task: Task::Raise } => 27,
        Step::Control { task: Task::GiveUp } => 28,
        Step::Control { task: Task::Yield } => 29,
        Step::Control { task: Task::Unlock } => 30,
    }
}

/// How many phases there are.
pub const PHASES: usize = 13;

/// Each phase's place among them.
pub const fn place_of_phase(phase: &Phase) -> usize {
    match phase {
        Phase::Accepted => 0,
        Phase::Fetched => 1,
        Phase::Verified => 2,
        Phase::Deployed => 3,
        Phase::Drained => 4,
        Phase::Armed { .. } => 5,
        Phase::Trial { .. } => 6,
        Phase::Healthy { .. } => 7,
        Phase::Blessed => 8,
        Phase::Upgraded => 9,
        Phase::Reverting { .. } => 10,
        Phase::Failed { .. } => 11,
        Phase::Halted { .. } => 12,
    }
}
