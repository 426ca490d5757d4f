//! How a trial is judged. `away` has trials without an API server, `steady` how long the checks
//! must hold.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "trial/away.rs"]
mod away;
mod scene;
#[path = "trial/steady.rs"]
mod steady;

use scene::*;
use upgrade::*;

fn trial() -> Record {
    upgrade_in(Phase::Trial { boot: boot(2) })
}

fn at(seconds: u64) -> Observation {
    on_trial().with(|seen| seen.turn.now = SinceBoot(0).plus_seconds(seconds))
}

#[test]
fn a_system_that_passes_every_check_is_blessed() {
    let (record, act) = next(&at(60).with(|seen| seen.turn.health = healthy()), &trial());
    assert_eq!(phase_of(&record), Phase::Healthy { boot: boot(2) });
    assert_eq!(
        act,
        Act::Begin(Step::Bless {
            commit: digest('b'),
            over: Some(deployment('a')),
        })
    );
}

/// Healthy in this boot; the first try to bless failed, and the next one is due in a while.
fn waits_for_its_blessing() -> Record {
    let verdict = at(60).with(|seen| seen.turn.health = healthy());
    let (record, act) = next(&verdict, &trial());
    let Act::Begin(bless) = act else {
        panic!("{act:?}")
    };
    let reason = Reason::LockHeld {
        holder: "x".into(),
        seconds: 60,
    };
    let failed = verdict.with(|seen| seen.turn.finished = finished(bless, Outcome::Failed(reason)));
    let (record, act) = next(&failed, &record);
    assert!(matches!(act, Act::Wait(Some(_))), "{act:?}");
    assert!(matches!(phase_of(&record), Phase::Healthy { .. }));
    record
}

fn ill(seconds: u64) -> Observation {
    at(seconds).with(|seen| {
        seen.turn.health = Health {
            kubelet: Check::Fail("connection refused".into()),
            ..healthy()
        };
    })
}

/// It leaves the trial, and nothing is held against the new system.
fn assert_gives_way_without_blame(record: Record) {
    let up = record.upgrade.unwrap();
    assert_eq!(up.phase, Phase::Trial { boot: boot(2) });
    assert!(matches!(
        up.attempt.given_up,
        Some(Reason::ApiAwayInTrial { .. })
    ));
}

#[test]
fn check_that_fails_again_takes_the_verdict_of_healthy_back() {
    let (record, act) = next(&ill(65), &waits_for_its_blessing());
    assert_eq!(phase_of(&record), Phase::Trial { boot: boot(2) });
    assert!(matches!(act, Act::Wait(Some(_))), "{act:?}");
    let well = at(90).with(|seen| seen.turn.health = healthy());
    assert_eq!(begun(&next(&well, &record).1), Some("Bless"));
    let (record, _) = next(&ill(620), &record);
    assert!(matches!(phase_of(&record), Phase::Reverting { .. }));
}

#[test]
fn failing_check_past_the_deadline_is_not_blessed_either() {
    let (record, act) = next(&ill(700), &waits_for_its_blessing());
    assert!(matches!(phase_of(&record), Phase::Reverting { .. }));
    assert_eq!(begun(&act), Some("Reboot"));
}

#[test]
fn pending_check_is_awaited_exactly_until_the_deadline() {
    let (_, act) = next(&at(599), &trial());
    assert_eq!(act, Act::Wait(Some(SinceBoot(600_000))));
    let (record, act) = next(&at(600), &trial());
    assert!(matches!(
        phase_of(&record),
        Phase::Reverting {
            reason: Reason::Unhealthy { .. }
        }
    ));
    assert_eq!(act, Act::Begin(Step::Reboot { force: false }));
}

#[test]
fn slow_machine_gives_its_trial_twice_the_time_of_its_boot() {
    let mut slow = trial();
    slow.upgrade.as_mut().unwrap().served.boot_seconds = Some(480);
    let (_, act) = next(&at(1079), &slow);
    assert_eq!(act, Act::Wait(Some(SinceBoot(1_080_000))));
    let (record, _) = next(&at(1080), &slow);
    assert!(matches!(phase_of(&record), Phase::Reverting { .. }));
}

#[test]
fn slow_pod_of_the_node_gives_the_trial_twice_its_start() {
    let mut slow = trial();
    let pod = serving::NodePod {
        ready_seconds: Some(480),
        ..serving::NodePod::default()
    };
    slow.upgrade.as_mut().unwrap().served.node = Some(serving::Offer {
        pods: vec![pod],
        ..serving::Offer::default()
    });
    let (_, act) = next(&at(1079), &slow);
    assert_eq!(act, Act::Wait(Some(SinceBoot(1_080_000))));
    let (record, _) = next(&at(1080), &slow);
    assert!(matches!(phase_of(&record), Phase::Reverting { .. }));
}

#[test]
fn broken_required_check_ends_the_trial_early() {
    let mut health = healthy();
    health
        .required
        .push(("10-disk".into(), Check::Broken("no spindle".into())));
    let (record, _) = next(&at(60).with(|seen| seen.turn.health = health), &trial());
    let reason = Reason::UserCheck {
        name: "10-disk".into(),
        detail: "no spindle".into(),
        cause: Cause::Image,
    };
    assert_eq!(phase_of(&record), Phase::Reverting { reason });
}

#[test]
fn system_that_starts_no_pod_sandbox_is_not_blessed() {
    let health = Health {
        sandbox: Check::Fail("no such image".into()),
        ..healthy()
    };
    let seen = |seconds| at(seconds).with(|seen| seen.turn.health = health.clone());
    assert!(matches!(next(&seen(599), &trial()).1, Act::Wait(_)));
    let (record, _) = next(&seen(600), &trial());
    let reason = Reason::Unhealthy {
        check: "pod sandbox".into(),
        detail: "no such image (the limit: health.deadline-seconds = 600)".into(),
        seconds: 600,
        cause: Cause::Unclear,
    };
    assert_eq!(phase_of(&record), Phase::Reverting { reason });
}

#[test]
fn kubelet_that_is_not_ready_ends_the_trial_without_blame() {
    let ready = Check::Fail("KubeletNotReady: cni plugin not initialized".into());
    let health = Health { ready, ..healthy() };
    let (record, _) = next(&at(620).with(|seen| seen.turn.health = health), &trial());
    let phase = phase_of(&record);
    let Phase::Reverting { reason } = phase else {
        panic!("{phase:?}");
    };
    assert!(matches!(&reason, Reason::Unhealthy { check, .. } if check == "Node Ready"));
    assert!(!reason.blames_image(), "{reason}");
}

#[test]
fn missing_pod_network_blames_no_image_without_an_api_server() {
    let health = Health {
        pod_network: Check::Fail("plugin not initialized".into()),
        ..healthy()
    };
    let away = at(1500).with(|seen| {
        seen.node.api = Api::Away;
        seen.turn.health = health.clone();
    });
    assert_gives_way_without_blame(next(&away, &trial()).0);
    let reached = at(620).with(|seen| seen.turn.health = health);
    let (record, _) = next(&reached, &trial());
    let phase = phase_of(&record);
    let Phase::Reverting {
        reason: Reason::Unhealthy { check, .. },
    } = phase
    else {
        panic!("{phase:?}");
    };
    assert_eq!(check, "pod network");
}

#[test]
fn kubeadm_is_tried_again_while_the_api_server_is_there() {
    let health = Health {
        kubeadm: Check::Fail("timed out".into()),
        ..healthy()
    };
    let seen = at(60).with(|seen| seen.turn.health = health);
    assert_eq!(next(&seen, &trial()).1, Act::Begin(Step::Kubeadm));
}

/// kubeadm runs, and comes to no end.
fn hangs_in_kubeadm(seconds: u64) -> Observation {
    at(seconds).with(|seen| {
        seen.turn.health = Health {
            kubeadm: Check::Pending("kubeadm upgrade node is running".into()),
            ..healthy()
        };
        seen.turn.running = Some(Step::Kubeadm);
    })
}

#[test]
fn deadman_hold_covers_the_kubeadm_time_past_the_deadline() {
    // The API server was reached 20 s after boot, and has its 600 s from then on.
    let (record, _) = next(&hangs_in_kubeadm(610), &trial());
    assert!(record.upgrade.unwrap().attempt.hold.unwrap().at > SinceBoot(620_000));
}

#[test]
fn hanging_kubeadm_is_cancelled_at_the_deadline() {
    let hangs = hangs_in_kubeadm;
    // 600 s, counted from when the API server was reached.
    let (record, act) = next(&hangs(619), &trial());
    assert_eq!(act, Act::Wait(Some(SinceBoot(620_000))));
    let (record, act) = next(&hangs(620), &record);
    assert_eq!(act, Act::Cancel);
    let cancelled = hangs(620).with(|seen| {
        seen.turn.running = None;
        seen.turn.finished = finished(Step::Kubeadm, Outcome::Cancelled);
    });
    let (record, act) = next(&cancelled, &record);
    let Phase::Reverting { reason } = phase_of(&record) else {
        panic!("{record:?}");
    };
    let told = reason.to_string();
    assert!(told.contains("kubeadm upgrade node"), "{told}");
    assert_eq!(act, Act::Begin(Step::Reboot { force: false }));
}

#[test]
fn failed_kubeadm_is_reported_by_name_while_the_trial_goes_on() {
    let reason = Reason::KubeadmFailed {
        detail: "see the journal of careen-kubeadm.service".into(),
    };
    let seen = at(60)
        .with(|seen| seen.turn.finished = finished(Step::Kubeadm, Outcome::Failed(reason.clone())));
    let (record, _) = next(&seen, &trial());
    assert_eq!(phase_of(&record), Phase::Trial { boot: boot(2) });
    let told = report(&Ok(record), &seen, None).unwrap();
    assert_eq!(told.reason, Some(reason));
    assert_eq!(told.status.code.as_deref(), Some("KubeadmFailed"));
    let text = told.status.reason.unwrap();
    assert!(text.starts_with("kubeadm upgrade node"), "{text}");
}

#[test]
fn a_trial_that_the_guard_did_not_see_is_left_unjudged() {
    let mut record = trial();
    record.upgrade.as_mut().unwrap().attempt.guarded = None;
    let (record, act) = next(&at(60).with(|seen| seen.turn.health = healthy()), &record);
    assert_eq!(act, Act::Begin(Step::Reboot { force: false }));
    assert_eq!(
        record.upgrade.unwrap().attempt.given_up,
        Some(Reason::UnguardedBoot)
    );
}

#[test]
fn a_bad_trial_is_left_by_force_when_asking_does_not_help() {
    let mut record = upgrade_in(Phase::Reverting {
        reason: Reason::NoApiFromNewSystem {
            seen: String::new(),
        },
    });
    let refused = || {
        Outcome::Failed(Reason::RebootRefused {
            detail: "held".into(),
        })
    };
    let mut seen = at(700);
    for _ in 0..2 {
        seen.turn.finished = finished(Step::Reboot { force: false }, refused());
        record = next(&seen, &record).0;
        seen.turn.now = seen.turn.now.plus_seconds(300);
    }
    seen.turn.finished = None;
    assert_eq!(
        next(&seen, &record).1,
        Act::Begin(Step::Reboot { force: true })
    );
}

#[test]
fn bad_system_set_as_the_default_halts_instead_of_rebooting() {
    let reason = Reason::NoApiFromNewSystem {
        seen: String::new(),
    };
    let seen = at(60).with(|seen| {
        seen.machine.trial = false;
        seen.machine.deployments = vec![deployment('b'), deployment('a')];
    });
    let (record, act) = next(&seen, &upgrade_in(Phase::Reverting { reason }));
    assert_eq!(act, Act::Wait(None));
    assert!(matches!(
        phase_of(&record),
        Phase::Halted {
            reason: Reason::ForeignDefault { .. }
        }
    ));
}

#[test]
fn healthy_trial_does_not_replace_a_default_set_by_others() {
    let seen = on_trial().with(|seen| {
        seen.machine.deployments = vec![deployment('c'), deployment('a'), deployment('b')];
        seen.turn.health = healthy();
    });
    let (record, act) = next(&seen, &trial());
    assert_eq!(begun(&act), Some("Reboot"), "into what somebody chose");
    let default = digest('c').short().to_owned();
    let reason = Reason::ForeignDefault { default };
    assert_eq!(phase_of(&record), Phase::Halted { reason });
}

#[test]
fn unrecorded_blessing_under_a_foreign_default_does_not_reboot() {
    // The power went right after the swap; the node came up in `b`, and then somebody made `c` the
    // default.
    let seen = on_trial().with(|seen| {
        seen.turn.boot = boot(3);
        seen.machine.trial = false;
        seen.machine.deployments = vec![deployment('c'), deployment('b'), deployment('a')];
    });
    let (record, act) = next(&seen, &upgrade_in(Phase::Healthy { boot: boot(2) }));
    assert_eq!(act, Act::Wait(None));
    let default = digest('c').short().to_owned();
    let reason = Reason::ForeignDefault { default };
    assert_eq!(phase_of(&record), Phase::Halted { reason });
}
