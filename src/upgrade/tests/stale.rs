//! What changes behind the back of an upgrade that is prepared: /etc, and the cordon.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::*;

#[test]
fn changed_etc_is_deployed_again_just_before_arming() {
    let seen = asked().with(|seen| {
        seen.machine.etc_stale = true;
        seen.machine.deployments = on_trial().machine.deployments;
    });
    assert_eq!(
        begun(&next(&seen, &upgrade_in(Phase::Drained)).1),
        Some("Deploy")
    );
}

#[test]
fn etc_that_never_rests_is_named_and_nothing_is_drained() {
    let mut record = upgrade_in(Phase::Deployed);
    record.upgrade.as_mut().unwrap().custody = record::Custody::Users { hooks_due: false };
    let restless = |finished| {
        asked().with(|seen| {
            seen.machine.etc_stale = true;
            seen.machine.etc_changed = Some("/etc/cni/net.d/00-multus.conf".to_owned());
            seen.turn.finished = finished;
        })
    };
    let (commit, deployed) = (digest('b'), Effect::Deployed(deployment('b')));
    let done = finished(Step::Deploy { commit }, Outcome::Done(deployed));
    let (mut deployments, mut seen) = (0, restless(None));
    let act = loop {
        let (after, act) = next(&seen, &record);
        (record, seen) = (after, restless(done.clone()));
        if begun(&act) != Some("Deploy") {
            break act;
        }
        deployments += 1;
        assert!(deployments < 20);
    };
    assert_eq!(deployments, at_once().tries);
    assert_eq!(begun(&act), Some("Release"), "it does not drain");
    let phase = phase_of(&record);
    let (Phase::Failed { reason } | Phase::Reverting { reason }) = phase else {
        panic!("{phase:?}")
    };
    assert_eq!(reason.code(), "EtcMerge");
    let text = reason.to_string();
    assert!(text.contains("/etc/cni/net.d/00-multus.conf"), "{text}");
}

#[test]
fn rehearsed_refusal_is_told_and_ends_nothing() {
    // A webhook without dry runs, or a server that fails for a moment, shows nothing of the drain.
    let reason = Reason::DrainRefused {
        detail: "denied (403)".to_owned(),
    };
    let blocked = Some(reason.clone());
    let outcome = Outcome::Done(Effect::Rehearsed { blocked });
    let seen = asked().with(|seen| seen.turn.finished = finished(Step::Rehearse, outcome));
    let (record, act) = next(&seen, &upgrade_in(Phase::Verified));
    assert_eq!(begun(&act), Some("Deploy"));
    let report = report(&Ok(record), &seen, None).unwrap();
    assert_eq!(report.now(), Some(&reason));
}

/// Armed, and the agent comes back after /etc was changed.
fn armed_with_a_changed_etc(one_shot: OneShot) -> Observation {
    asked().with(|seen| {
        seen.machine.one_shot = one_shot;
        seen.machine.etc_stale = true;
        seen.machine.deployments = on_trial().machine.deployments;
    })
}

#[test]
fn restarted_armed_agent_redeploys_after_etc_has_changed() {
    let armed = upgrade_in(Phase::Armed { boot: boot(1) });
    let seen = armed_with_a_changed_etc(OneShot::Clear);
    let (record, act) = next(&seen, &armed);
    assert_eq!(
        (phase_of(&record), begun(&act)),
        (Phase::Drained, Some("Deploy"))
    );
    assert_eq!(
        record.upgrade.unwrap().attempt.tries,
        0,
        "nothing was tried yet"
    );
    let seen = armed_with_a_changed_etc(OneShot::Set);
    let (record, act) = next(&seen, &armed);
    assert_eq!(
        begun(&act),
        Some("Disarm"),
        "a reboot now would be the trial"
    );
    let seen = armed_with_a_changed_etc(OneShot::Clear);
    assert_eq!(begun(&next(&seen, &record).1), Some("Deploy"));
}

#[test]
fn etc_that_changes_after_every_arming_reverts_the_upgrade() {
    let mut record = upgrade_in(Phase::Drained);
    for _ in 0..20 {
        let mut seen = armed_with_a_changed_etc(OneShot::Clear);
        let (after, act) = next(&seen, &record);
        record = after;
        if begun(&act) != Some("Deploy") {
            break;
        }
        let commit = digest('b');
        let deployed = Outcome::Done(Effect::Deployed(deployment('b')));
        seen.machine.etc_stale = false;
        seen.turn.finished = finished(Step::Deploy { commit }, deployed);
        let (saving, act) = next(&seen, &record);
        assert_eq!(begun(&act), Some("Snapshot"));
        seen.turn.finished = finished(Step::Snapshot, Outcome::Done(Effect::Plain));
        let (after, act) = next(&seen, &saving);
        assert_eq!(begun(&act), Some("Arm"));
        record = after;
    }
    let Phase::Reverting {
        reason: Reason::EtcMerge { .. },
    } = phase_of(&record)
    else {
        panic!("{:?}", phase_of(&record))
    };
}

/// Somebody has run `kubectl uncordon` since the drain.
fn uncordoned(one_shot: OneShot) -> Observation {
    asked().with(|seen| {
        seen.machine.one_shot = one_shot;
        seen.node.uncordoned = true;
        seen.machine.deployments = on_trial().machine.deployments;
    })
}

#[test]
fn node_uncordoned_after_the_drain_is_drained_before_the_reboot() {
    for (phase, one_shot, first) in [
        (Phase::Drained, OneShot::Clear, "Drain"),
        (Phase::Armed { boot: boot(1) }, OneShot::Clear, "Drain"),
        (Phase::Armed { boot: boot(1) }, OneShot::Set, "Disarm"),
    ] {
        let mut record = upgrade_in(phase.clone());
        let up = record.upgrade.as_mut().unwrap();
        let drain = Some(Moment {
            boot: boot(1),
            at: SinceBoot(0),
        });
        up.custody = taken(|taken| (taken.prepared, taken.drain_begun) = (true, drain));
        let (record, act) = next(&uncordoned(one_shot), &record);
        assert_eq!(begun(&act), Some(first), "{phase:?}");
        let (_, act) = next(&uncordoned(OneShot::Clear), &record);
        let drain = Act::Begin(Step::Drain { spent_seconds: 0 });
        assert_eq!(act, drain, "with its whole time");
    }
}

#[test]
fn node_cordoned_again_while_disarming_is_still_drained() {
    let armed = upgrade_in(Phase::Armed { boot: boot(1) });
    let (record, act) = next(&uncordoned(OneShot::Set), &armed);
    assert_eq!(begun(&act), Some("Disarm"));
    let cordoned_again = uncordoned(OneShot::Clear).with(|seen| {
        seen.node.uncordoned = false;
        seen.turn.finished = finished(Step::Disarm, Outcome::Done(Effect::Plain));
    });
    let (_, act) = next(&cordoned_again, &record);
    assert_eq!(begun(&act), Some("Drain"), "pods may be back");
}

#[test]
fn a_node_that_is_uncordoned_again_and_again_is_given_back() {
    let mut record = upgrade_in(Phase::Drained);
    for _ in 0..20 {
        let (drained, act) = next(&uncordoned(OneShot::Clear), &record);
        record = drained;
        if begun(&act) != Some("Drain") {
            break;
        }
        record.upgrade.as_mut().unwrap().phase = Phase::Drained;
    }
    let Phase::Reverting {
        reason: Reason::DrainRefused { detail },
    } = phase_of(&record)
    else {
        panic!("{:?}", phase_of(&record))
    };
    assert!(detail.contains("who uncordons"), "{detail}");
}

/// An agent that was killed once it had armed has just started, `seconds` after the boot, and
/// reaches no API server.
fn armed_unheard(seconds: u64, one_shot: OneShot) -> Observation {
    uncordoned(one_shot).with(|seen| {
        seen.turn.now = SinceBoot(0).plus_seconds(seconds);
        seen.node.request = Asked::Unknown;
        seen.node.api = Api::Away;
        seen.node.uncordoned = false;
    })
}

#[test]
fn restarted_armed_agent_waits_for_the_node_before_it_reboots() {
    let armed = upgrade_in(Phase::Armed { boot: boot(1) });
    for (one_shot, taken_back) in [(OneShot::Set, "Disarm"), (OneShot::Clear, "Drain")] {
        let (waiting, act) = next(&armed_unheard(20, one_shot), &armed);
        assert_eq!(act, Act::Wait(Some(SinceBoot(95_000))));
        let heard = armed_unheard(22, one_shot).with(|seen| {
            seen.node.request = asked().node.request;
            seen.node.api = quiet().node.api;
        });
        assert_eq!(begun(&next(&heard, &waiting).1), Some("Arm"));
        let uncordoned = heard.with(|seen| seen.node.uncordoned = true);
        assert_eq!(begun(&next(&uncordoned, &waiting).1), Some(taken_back));
    }
}

/// An administrator undeploys a system behind the agent's back, and each entry behind it has
/// another number.
#[test]
fn restarted_armed_agent_arms_again_before_it_reboots() {
    let armed = upgrade_in(Phase::Armed { boot: boot(1) });
    let found = uncordoned(OneShot::Set).with(|seen| seen.node.uncordoned = false);
    let (armed, act) = next(&found, &armed);
    assert_eq!(begun(&act), Some("Arm"));
    let armed_again = found.with(|seen| seen.turn.finished = just_armed());
    assert_eq!(begun(&next(&armed_again, &armed).1), Some("Reboot"));
}

#[test]
fn armed_node_starts_its_trial_although_the_api_server_is_away() {
    let armed = upgrade_in(Phase::Armed { boot: boot(1) });
    for one_shot in [OneShot::Set, OneShot::Clear] {
        let (record, act) = next(&armed_unheard(95, one_shot), &armed);
        assert_eq!(begun(&act), Some("Arm"));
        assert_eq!(phase_of(&record), Phase::Armed { boot: boot(1) });
    }
}
