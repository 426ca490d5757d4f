//! A policy that is made stricter reaches the upgrade under way, at each step up to the reboot into
//! the trial.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "tighten/keys.rs"]
mod keys;
mod scene;

use std::collections::BTreeSet;

use keys::*;
use scene::*;
use upgrade::*;

/// The policies of a case: the one that lets the request through, and the strict one.
fn policies(case: &Case) -> (PolicyRead, PolicyRead) {
    let mut loose = Policy::default();
    (case.loosen)(&mut loose);
    let mut tight = loose.clone();
    (case.tighten)(&mut tight);
    (Ok(loose), Ok(tight))
}

fn image(case: &Case) -> ImageFacts {
    let mut image = facts('b');
    (case.image)(&mut image);
    image
}

/// Whether the reason is known before the image was looked at.
fn is_known_at_once(case: &Case) -> bool {
    let refused = next_with(&seen(case, asked()), &Record::default(), &policies(case).1);
    refused.0.refused.is_some()
}

fn seen(case: &Case, seen: Observation) -> Observation {
    let mut seen = seen;
    (case.seen)(&mut seen);
    seen
}

/// An upgrade that was taken under the loose policy, with where it is and what is seen there.
fn under_way(case: &Case) -> Vec<(Record, Observation)> {
    let before = seen(case, asked());
    let beside = seen(
        case,
        asked().with(|seen| seen.machine.deployments = on_trial().machine.deployments),
    );
    let back = beside.clone().with(|seen| seen.turn.boot = boot(3));
    let at = |phase: Phase, seen: &Observation| {
        let mut record = upgrade_in(phase);
        let up = record.upgrade.as_mut().unwrap();
        let Asked::This(request) = &seen.node.request else {
            panic!("nobody asks");
        };
        up.request = request.clone();
        match request.parse().unwrap().wanted {
            Wanted::Image(target) => up.target = target,
            Wanted::Kept => (up.kept, up.target) = (true, Target::here(digest('b'))),
        }
        let control_plane = seen.machine.control_plane.as_ref();
        up.control = control_plane.map(|_| record::Control::default());
        up.facts = up.facts.take().map(|_| image(case));
        up.signatures = up.to.as_ref().map(|_| {
            let policy = policies(case).0;
            (&policy.unwrap()).into()
        });
        (record, seen.clone())
    };
    let mut armed = at(Phase::Armed { boot: boot(1) }, &beside);
    // As it is written for every guard.
    armed.0.upgrade.as_mut().unwrap().target = Target::here(digest('b'));
    vec![
        at(Phase::Accepted, &before),
        at(Phase::Fetched, &before),
        at(Phase::Verified, &before),
        at(Phase::Deployed, &beside),
        at(Phase::Drained, &beside),
        armed,
        at(Phase::Trial { boot: boot(2) }, &back),
    ]
}

fn reverts_for(record: &Record) -> Option<Reason> {
    match phase_of(record) {
        Phase::Reverting { reason } | Phase::Failed { reason } => Some(reason),
        _ => None,
    }
}

/// How a request that is new ends under this policy.
fn refusal(case: &Case, policy: &PolicyRead) -> Reason {
    let mut seen = seen(case, asked());
    let mut record = Record::default();
    for _ in 0..5 {
        let (decided, act) = next_with(&seen, &record, policy);
        record = decided;
        if let Some(refused) = &record.refused {
            return refused.reason.clone();
        }
        if let Some(reason) = reverts_for(&record) {
            return reason;
        }
        let Act::Begin(step) = act else {
            panic!("{act:?}")
        };
        let effect = match &step {
            Step::Fetch { .. } => Effect::Fetched {
                commit: digest('b'),
            },
            Step::Verify { .. } => Effect::Verified(image(case)),
            _ => Effect::Rehearsed { blocked: None },
        };
        seen.turn.finished = finished(step, Outcome::Done(effect));
    }
    panic!("it is not refused")
}

#[test]
fn each_key_that_refuses_ends_an_upgrade_under_way() {
    let mut cases = 0;
    for (key, class) in all() {
        let Class::Refuses(case) = class else {
            continue;
        };
        let (loose, tight) = policies(&case);
        let wanted = refusal(&case, &tight);
        assert_eq!(wanted.code(), case.code, "{key}");
        let at_once = is_known_at_once(&case);
        for (record, seen) in under_way(&case) {
            let phase = phase_of(&record);
            if !at_once && record.upgrade.as_ref().unwrap().facts.is_none() {
                continue;
            }
            let goes_on = reverts_for(&next_with(&seen, &record, &loose).0);
            assert_eq!(
                goes_on, None,
                "{key} in {phase:?}: refused by the loose policy"
            );
            let (record, act) = next_with(&seen, &record, &tight);
            assert_eq!(
                reverts_for(&record).as_ref(),
                Some(&wanted),
                "{key} in {phase:?}"
            );
            assert!(
                !matches!(begun(&act), Some("Arm" | "Reboot")),
                "{key}: {act:?}"
            );
            cases += 1;
        }
    }
    assert!(cases > 40, "only {cases} cases");
}

#[test]
fn every_key_that_refuses_nothing_is_classed_with_the_reason() {
    let keys = all().into_iter();
    let reasons = keys.filter_map(|(key, class)| match class {
        Class::RefusesNone(why) => Some((key, why)),
        Class::Refuses(_) | Class::AsksForSignatures(_) => None,
    });
    for (key, why) in reasons {
        assert!(!why.is_empty(), "{key}");
    }
}

#[test]
fn each_key_about_signatures_has_a_deployed_image_asked_again() {
    for (key, class) in all() {
        let Class::AsksForSignatures(case) = class else {
            continue;
        };
        let (loose, tight) = policies(&case);
        for (record, seen) in under_way(&case) {
            let phase = phase_of(&record);
            let deployed = matches!(
                phase,
                Phase::Deployed | Phase::Drained | Phase::Trial { .. }
            );
            if !deployed {
                continue;
            }
            let (_, act) = next_with(&seen, &record, &loose);
            assert_ne!(begun(&act), Some("Deploy"), "{key} in {phase:?}");
            let (asks, act) = next_with(&seen, &record, &tight);
            let Act::Begin(step @ Step::Deploy { .. }) = act else {
                panic!("{key} in {phase:?}: {act:?}");
            };
            let is_signed = seen.clone().with(|seen| {
                seen.turn.finished = finished(
                    step.clone(),
                    Outcome::Done(Effect::Deployed(deployment('b'))),
                )
            });
            let (_, act) = next_with(&is_signed, &asks, &tight);
            assert_ne!(begun(&act), Some("Deploy"), "{key}: asked once");
            let reason = Reason::Unsigned {
                remote: "careen".into(),
                commit: digest('b').to_string(),
            };
            let is_not = seen
                .with(|seen| seen.turn.finished = finished(step, Outcome::Failed(reason.clone())));
            let (record, _) = next_with(&is_not, &asks, &tight);
            assert_eq!(reverts_for(&record), Some(reason), "{key} in {phase:?}");
        }
    }
}

/// A container image, in this phase, as the policy was with which it was fetched.
fn container_in(phase: Phase, before: &Policy) -> (Record, Observation) {
    let place = format!("docker://registry.example/os@sha256:{}", "c".repeat(64));
    let mut record = upgrade_in(phase);
    let up = record.upgrade.as_mut().unwrap();
    up.request = raw(&place);
    up.target = Target {
        commit: Some(digest('b')),
        ..place.parse().unwrap()
    };
    up.signatures = Some(before.into());
    let seen = asked().with(|seen| {
        seen.node.request = Asked::This(raw(&place));
        seen.machine.deployments = on_trial().machine.deployments;
    });
    (record, seen)
}

fn of_a_registry(unsigned: bool, signed_by: &str) -> Policy {
    let mut policy = Policy {
        unsigned,
        ..Policy::default()
    };
    policy.registry.allowed = vec!["registry.example".into()];
    policy.registry.signed_by = signed_by.into();
    policy
}

/// Its verdict is no part of the commit, so nothing on the disk replaces it.
#[test]
fn an_image_that_skopeo_did_not_judge_is_fetched_again() {
    let strict = Ok(of_a_registry(false, ""));
    for before in [of_a_registry(true, ""), of_a_registry(false, "careen")] {
        for phase in [Phase::Fetched, Phase::Verified, Phase::Deployed] {
            let (record, seen) = container_in(phase.clone(), &before);
            let (record, act) = next_with(&seen, &record, &strict);
            assert_eq!(begun(&act), Some("Fetch"), "{phase:?}");
            assert_eq!(phase_of(&record), Phase::Accepted);
            let Act::Begin(step) = act else { panic!() };
            let outcome = Outcome::Done(Effect::Fetched {
                commit: digest('b'),
            });
            let ended = seen.with(|seen| seen.turn.finished = finished(step, outcome));
            let (_, act) = next_with(&ended, &record, &strict);
            assert_eq!(begun(&act), Some("Verify"), "it is judged now");
        }
        let (record, seen) = container_in(Phase::Drained, &before);
        let (_, act) = next_with(&seen, &record, &strict);
        assert_eq!(begun(&act), Some("Release"), "users have the node first");
    }
    let (record, seen) = container_in(Phase::Fetched, &of_a_registry(false, ""));
    assert_eq!(begun(&next_with(&seen, &record, &strict).1), Some("Verify"));
}

#[test]
fn an_armed_image_is_asked_again_for_its_signatures() {
    let loose = Policy {
        unsigned: true,
        ..Policy::default()
    };
    let mut record = upgrade_in(Phase::Armed { boot: boot(1) });
    record.upgrade.as_mut().unwrap().signatures = Some((&loose).into());
    let arm = Step::Arm {
        deployment: deployment('b'),
    };
    let seen = asked().with(|seen| {
        seen.machine.deployments = on_trial().machine.deployments;
        seen.machine.one_shot = OneShot::Set;
        seen.turn.finished = finished(arm, Outcome::Done(Effect::Plain));
    });
    let (record, act) = next(&seen, &record);
    assert_eq!(begun(&act), Some("Disarm"));
    assert_eq!(phase_of(&record), Phase::Drained);
    let disarmed = seen.with(|seen| {
        seen.machine.one_shot = OneShot::Clear;
        seen.turn.finished = finished(Step::Disarm, Outcome::Done(Effect::Plain));
    });
    assert_eq!(begun(&next(&disarmed, &record).1), Some("Deploy"));
}

/// It may have begun by the policy of then, and is followed to its end.
#[test]
fn a_deployment_that_a_killed_agent_began_is_asked_again() {
    let mut record = upgrade_in(Phase::Verified);
    record.upgrade.as_mut().unwrap().rehearsal = record::Rehearsal::Held { blocked: None };
    let loose = Ok(Policy {
        unsigned: true,
        ..Policy::default()
    });
    let (began, act) = next_with(&asked(), &record, &loose);
    assert_eq!(begun(&act), Some("Deploy"));
    let (followed, act) = next(&asked(), &began);
    assert_eq!(begun(&act), Some("Deploy"));
    let Act::Begin(step) = act else {
        panic!("{act:?}")
    };
    let ended = asked().with(|seen| {
        seen.turn.finished = finished(step, Outcome::Done(Effect::Deployed(deployment('b'))));
        seen.machine.deployments = on_trial().machine.deployments;
    });
    let (_, act) = next(&ended, &followed);
    assert_eq!(begun(&act), Some("Deploy"), "by the strict policy");
}

fn other_remotes() -> Policy {
    Policy {
        remotes: vec!["other".into()],
        ..Policy::default()
    }
}

#[test]
fn a_broken_policy_file_leaves_the_last_policy_in_force() {
    let broken = |last: Policy| -> PolicyRead {
        let reason = Reason::BadPolicy {
            file: names::POLICY_FILE.into(),
            line: 1,
            column: 1,
            detail: "x".into(),
        };
        let last = Box::new(last);
        Err(Broken { reason, last })
    };
    let record = upgrade_in(Phase::Deployed);
    let (record, act) = next_with(&asked(), &record, &broken(Policy::default()));
    assert_eq!(begun(&act), Some("Drain"));
    let (record, _) = next_with(&asked(), &record, &broken(other_remotes()));
    let reason = reverts_for(&record).unwrap();
    assert_eq!(reason.code(), "RemoteNotAllowed", "strict before it broke");
}

#[test]
fn a_step_that_runs_ends_before_the_strict_policy_is_asked() {
    let step = Step::Verify {
        commit: digest('b'),
    };
    let running = asked().with(|seen| seen.turn.running = Some(step.clone()));
    let strict = Ok(other_remotes());
    let (record, act) = next_with(&running, &upgrade_in(Phase::Fetched), &strict);
    assert_eq!((phase_of(&record), act), (Phase::Fetched, Act::Wait(None)));
    let ended = asked().with(|seen| {
        seen.turn.finished = finished(step, Outcome::Done(Effect::Verified(facts('b'))))
    });
    let (record, _) = next_with(&ended, &record, &strict);
    assert_eq!(reverts_for(&record).unwrap().code(), "RemoteNotAllowed");
}

#[test]
fn hours_and_a_pause_hold_back_no_refusal() {
    let mut strict = other_remotes();
    strict.window.open = vec!["daily 01:00-01:01".parse().unwrap()];
    let paused = asked().with(|seen| seen.node.paused = Some("holidays".into()));
    let (record, _) = next_with(&paused, &upgrade_in(Phase::Deployed), &Ok(strict));
    assert_eq!(reverts_for(&record).unwrap().code(), "RemoteNotAllowed");
}

#[test]
fn a_taken_node_is_given_back_before_the_refusal_is_told() {
    let mut record = upgrade_in(Phase::Drained);
    record.upgrade.as_mut().unwrap().custody = taken(|_| ());
    let seen = asked().with(|seen| seen.machine.deployments = on_trial().machine.deployments);
    let (record, act) = next_with(&seen, &record, &Ok(other_remotes()));
    assert_eq!(act, Act::Begin(Step::Release));
    assert_eq!(reverts_for(&record).unwrap().code(), "RemoteNotAllowed");
}

#[test]
fn what_is_kept_is_judged_by_no_remote_and_no_signature() {
    let mut record = upgrade_in(Phase::Deployed);
    let up = record.upgrade.as_mut().unwrap();
    (up.kept, up.request) = (true, raw("kept:"));
    up.target = Target::here(digest('b'));
    let seen = asked().with(|seen| seen.node.request = Asked::This(raw("kept:")));
    let (_, act) = next_with(&seen, &record, &Ok(other_remotes()));
    assert_eq!(begun(&act), Some("Drain"));
    let watched = Policy {
        require_watchdog: true,
        ..Policy::default()
    };
    let seen = seen.with(|seen| {
        seen.machine.watchdog = Err(Reason::NoWatchdog {
            found: "none".into(),
        })
    });
    let (record, _) = next_with(&seen, &record, &Ok(watched));
    assert_eq!(reverts_for(&record).unwrap().code(), "NoWatchdog");
}

#[test]
fn page_lists_the_keys_that_end_an_upgrade_and_no_other() {
    let page = include_str!("../../../docs/policy.md").replace('\n', " ");
    let (_, list) = page.split_once("These keys are ").unwrap();
    let (list, _) = list.split_once(". ").unwrap();
    let named = list.split('`').skip(1).step_by(2);
    let named: BTreeSet<_> = named.filter(|name| !name.starts_with('[')).collect();
    let refusing = all()
        .into_iter()
        .filter(|(_, class)| matches!(class, Class::Refuses(_)));
    let refusing: BTreeSet<_> = refusing.map(|(key, _)| key.replace('_', "-")).collect();
    assert_eq!(named, refusing.iter().map(String::as_str).collect());
}
