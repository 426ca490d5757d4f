//! What the old system does when it is back from a trial: another trial, or the way out.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::*;

fn at(seconds: u64) -> Observation {
    asked().with(|seen| seen.turn.now = SinceBoot(0).plus_seconds(seconds))
}

fn reverting() -> Record {
    upgrade_in(Phase::Reverting {
        reason: Reason::NoApiFromNewSystem {
            seen: String::new(),
        },
    })
}

/// The agent has just started in the old system, `seconds` after the boot, and reaches no API
/// server.
fn without_api(seconds: u64) -> Observation {
    at(seconds).with(|seen| {
        seen.turn.boot = boot(3);
        seen.node.api = Api::Away;
        seen.machine.deployments = on_trial().machine.deployments;
    })
}

#[test]
fn old_system_lifts_the_cordon_before_it_cleans_up() {
    let (record, act) = next(&without_api(30), &reverting());
    assert_eq!(act, Act::Wait(Some(SinceBoot(95_000))));
    let reached = without_api(32).with(|seen| seen.node.api = quiet().node.api);
    assert_eq!(next(&reached, &record).1, Act::Begin(Step::Release));
}

#[test]
fn cleaning_up_does_not_wait_for_ever_for_an_api_server() {
    let commit = Some(digest('b'));
    let (_, act) = next(&without_api(95), &reverting());
    assert_eq!(act, Act::Begin(Step::Undo { commit }));
    let blessed = on_trial().with(|seen| {
        seen.turn.boot = boot(3);
        seen.node.api = Api::Away;
        seen.machine.deployments = vec![deployment('b'), deployment('a')];
    });
    let clean = |seconds| {
        let now = SinceBoot(0).plus_seconds(seconds);
        let seen = blessed.clone().with(|seen| seen.turn.now = now);
        next(&seen, &upgrade_in(Phase::Blessed)).1
    };
    assert_eq!(clean(30), Act::Wait(Some(SinceBoot(95_000))));
    assert_eq!(clean(95), Act::Begin(Step::Clean));
}

/// The kubelet's state is put back before the agent starts, and that may take minutes.
#[test]
fn late_agent_start_gets_the_full_wait_for_the_api_server() {
    let late = |seen: Observation| seen.with(|seen| seen.turn.started = SinceBoot(400_000));
    let wait = Act::Wait(Some(SinceBoot(490_000)));
    assert_eq!(next(&late(without_api(401)), &reverting()).1, wait);
    let on_trial = upgrade_in(Phase::Trial { boot: boot(2) });
    assert_eq!(next(&late(back_unheard(401)), &on_trial).1, wait);
    let commit = Some(digest('b'));
    let (_, act) = next(&late(without_api(490)), &reverting());
    assert_eq!(act, Act::Begin(Step::Undo { commit }));
}

#[test]
fn trial_without_a_verdict_is_retried_up_to_the_limit() {
    let mut seen = asked().with(|seen| {
        seen.turn.boot = boot(3);
        seen.machine.deployments = on_trial().machine.deployments;
    });
    let (saving, act) = next(&seen, &upgrade_in(Phase::Trial { boot: boot(2) }));
    assert_eq!(
        begun(&act),
        Some("Snapshot"),
        "the first trial left no verdict: a second is due"
    );
    seen.turn.finished = finished(Step::Snapshot, Outcome::Done(Effect::Plain));
    let (second, act) = next(&seen, &saving);
    assert_eq!(begun(&act), Some("Arm"));
    assert_eq!(second.upgrade.as_ref().unwrap().attempt.tries, 2);
    (seen.turn.boot, seen.turn.finished) = (boot(5), None);
    let (third, _) = next(&seen, &second);
    assert!(matches!(
        phase_of(&third),
        Phase::Reverting {
            reason: Reason::NoVerdict { tries: 2, .. }
        }
    ));
}

/// careen-deploy was killed after its swap. The new system was seen to be the default, and a power
/// cut undid that.
#[test]
fn node_is_drained_again_after_power_loss_undoes_a_blessing() {
    let back = asked().with(|seen| {
        seen.turn.boot = boot(3);
        seen.machine.deployments = on_trial().machine.deployments;
    });
    let users = record::Custody::Users { hooks_due: false };
    for custody in [users, given_back()] {
        let mut record = upgrade_in(Phase::Blessed);
        let up = record.upgrade.as_mut().unwrap();
        (up.custody, up.cleaned) = (custody, true);
        let (record, act) = next(&back, &record);
        let Act::Begin(step @ Step::Deploy { .. }) = act else {
            panic!("{act:?}: what is said of the blessing is not taken back");
        };
        let deployed = back.clone().with(|seen| {
            seen.turn.finished = finished(step, Outcome::Done(Effect::Deployed(deployment('b'))))
        });
        let (record, act) = next(&deployed, &record);
        assert_eq!(begun(&act), Some("Drain"), "pods may be back");
        let up = record.upgrade.as_ref().unwrap();
        assert!(
            !up.custody.is_given_back(),
            "the cordon of this drain has to come off too"
        );
        assert!(!up.cleaned, "nothing is cleaned away yet");
    }
}

/// Back from the first trial, the agent just started.
fn back_unheard(seconds: u64) -> Observation {
    without_api(seconds).with(|seen| seen.node.request = Asked::Unknown)
}

#[test]
fn before_the_second_trial_the_requester_is_heard() {
    let (waiting, act) = next(
        &back_unheard(20),
        &upgrade_in(Phase::Trial { boot: boot(2) }),
    );
    assert_eq!(act, Act::Wait(Some(SinceBoot(95_000))));
    let withdrawn = back_unheard(32).with(|seen| {
        seen.node.request = Asked::Nothing;
        seen.node.api = quiet().node.api;
    });
    let reason = Reason::Withdrawn { replaced_by: None };
    let (record, _) = next(&withdrawn, &waiting);
    assert_eq!(phase_of(&record), Phase::Reverting { reason });
}

#[test]
fn second_trial_is_armed_although_the_api_server_stays_away() {
    let trial = upgrade_in(Phase::Trial { boot: boot(2) });
    let mut waiting = next(&back_unheard(20), &trial).0;
    waiting.upgrade.as_mut().unwrap().attempt.saved = true;
    assert_eq!(begun(&next(&back_unheard(95), &waiting).1), Some("Arm"));
}

#[test]
fn every_trial_takes_a_new_snapshot() {
    let back = asked().with(|seen| {
        seen.turn.boot = boot(3);
        seen.machine.deployments = on_trial().machine.deployments;
    });
    let (record, act) = next(&back, &upgrade_in(Phase::Trial { boot: boot(2) }));
    assert_eq!(
        (phase_of(&record), begun(&act)),
        (Phase::Drained, Some("Snapshot"))
    );
    let drained_again =
        back.with(|seen| seen.turn.finished = finished(drain(), Outcome::Done(Effect::Plain)));
    let mut given_back = upgrade_in(Phase::Deployed);
    given_back.upgrade.as_mut().unwrap().attempt.saved = true;
    assert_eq!(
        begun(&next(&drained_again, &given_back).1),
        Some("Snapshot")
    );
}

#[test]
fn arming_given_up_in_the_same_boot_does_not_count_as_a_trial() {
    let gone = asked().with(|seen| seen.machine.deployments = vec![held('a')]);
    let armed = upgrade_in(Phase::Armed {
        boot: asked().turn.boot,
    });
    let (record, _) = next(&gone, &armed);
    assert!(matches!(phase_of(&record), Phase::Reverting { .. }));
    assert_eq!(record.upgrade.unwrap().attempt.tries, 0);
}

#[test]
fn etc_changed_during_a_trial_is_redeployed_before_the_next_one() {
    let back = asked().with(|seen| {
        seen.turn.boot = boot(3);
        seen.machine.etc_stale = true;
        seen.machine.deployments = on_trial().machine.deployments;
    });
    for phase in phases()
        .into_iter()
        .filter(|phase| matches!(phase, Phase::Armed { .. } | Phase::Trial { .. }))
    {
        let record = upgrade_in(phase);
        let up = record.upgrade.as_ref().unwrap();
        assert!(
            up.may_arm_next(&back.machine.booted),
            "asked for in {:?}",
            up.phase
        );
        assert!(
            !up.may_arm_next(&deployment('b')),
            "only the old system arms"
        );
        assert_eq!(begun(&next(&back, &record).1), Some("Deploy"));
    }
}

#[test]
fn etc_changed_during_a_repeated_drain_is_redeployed() {
    let mut record = upgrade_in(Phase::Deployed);
    let up = record.upgrade.as_mut().unwrap();
    assert!(!up.may_arm_next(&deployment('a')), "a snapshot comes first");
    let mut seen = back_unheard(100);
    seen.node.request = Asked::This(pinned('b'));
    seen.turn.finished = finished(drain(), Outcome::Done(Effect::Plain));
    let (record, act) = next(&seen, &record);
    assert_eq!(begun(&act), Some("Snapshot"));
    let up = record.upgrade.as_ref().unwrap();
    assert!(
        up.may_arm_next(&seen.machine.booted),
        "so /etc is looked at"
    );
    seen.machine.etc_stale = true;
    seen.turn.finished = finished(Step::Snapshot, Outcome::Done(Effect::Plain));
    assert_eq!(begun(&next(&seen, &record).1), Some("Deploy"));
}

#[test]
fn old_system_booted_after_a_blessing_uncordons_and_halts() {
    let blessed = vec![deployment('b'), deployment('a')];
    let away = without_api(200).with(|seen| seen.machine.deployments = blessed.clone());
    for phase in [Phase::Blessed, Phase::Healthy { boot: boot(2) }] {
        let (record, act) = next(&away, &upgrade_in(phase));
        assert_eq!(act, Act::Wait(None), "the cordon waits for the API server");
        let mut seen = away.clone().with(|seen| seen.node.api = quiet().node.api);
        assert_eq!(next(&seen, &record).1, Act::Begin(Step::Release));
        seen.turn.finished = finished(Step::Release, Outcome::Done(Effect::Plain));
        let (record, act) = next(&seen, &record);
        assert_eq!(act, Act::Wait(None), "nothing is undone, nothing armed");
        let default = digest('b').short().to_owned();
        let reason = Reason::ForeignDefault { default };
        assert_eq!(phase_of(&record), Phase::Halted { reason });
    }
}

/// GRUB's chain starts the kept system where it cannot read the new one's kernel; so does a person
/// at the console.
#[test]
fn upgraded_node_that_boots_its_former_system_reports_failed() {
    let told = |booted: char| {
        let mut seen = quiet();
        (seen.machine.booted, seen.turn.boot) = (deployment(booted), boot(9));
        seen.machine.deployments = ['b', 'a'].map(deployment).to_vec();
        report(&Ok(upgrade_in(Phase::Upgraded)), &seen, None).unwrap()
    };
    assert_eq!(told('b').answer, Some(report::Answer::Upgraded));
    let former = told('a');
    assert_eq!(former.answer, Some(report::Answer::Failed));
    let default = digest('b').short().to_owned();
    assert_eq!(former.reason, Some(Reason::ForeignDefault { default }));
    assert_eq!(
        told('c').answer,
        Some(report::Answer::Upgraded),
        "deployed by hand since"
    );
}

#[test]
fn a_boot_past_the_guard_says_nothing_of_the_api_server() {
    let old = asked().with(|seen| {
        seen.turn.boot = boot(3);
        seen.machine.deployments = on_trial().machine.deployments;
    });
    let mut record = upgrade_in(Phase::Trial { boot: boot(2) });
    record.upgrade.as_mut().unwrap().attempt.given_up = Some(Reason::UnguardedBoot);
    let (record, act) = next(&old, &record);
    assert_eq!(begun(&act), Some("Snapshot"));
    let reached = record.upgrade.unwrap().api.compared;
    assert!(
        !reached,
        "or one outage in the next trial is held against the image"
    );
}
