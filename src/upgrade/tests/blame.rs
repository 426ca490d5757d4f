//! What condemns an image, and what ends an upgrade without blame.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::*;

fn trial() -> Record {
    upgrade_in(Phase::Trial { boot: boot(2) })
}

fn at(seconds: u64, health: Health) -> Observation {
    on_trial().with(|seen| {
        seen.turn.now = SinceBoot(0).plus_seconds(seconds);
        seen.turn.health = health;
    })
}

fn reverting(record: &Record) -> Reason {
    match phase_of(record) {
        Phase::Reverting { reason } => reason,
        other => panic!("{other:?}"),
    }
}

const CAUSES: [Cause; 5] = [
    Cause::Image,
    Cause::Node,
    Cause::ApiServer,
    Cause::Neighbour,
    Cause::Unclear,
];

/// What the record remembers after the old system has ended this upgrade.
fn remembered(reason: &Reason) -> Vec<upgrade::record::BadImage> {
    let reason = reason.clone();
    next(&quiet(), &upgrade_in(Phase::Failed { reason })).0.bad
}

#[test]
fn only_a_cause_in_the_image_is_remembered_as_bad() {
    for cause in CAUSES {
        let health = Health {
            runtime: Check::Fail("no such file".into()),
            causes: Causes {
                runtime: cause,
                ..Causes::default()
            },
            ..healthy()
        };
        let reason = reverting(&next(&at(600, health), &trial()).0);
        assert!(matches!(&reason, Reason::Unhealthy { cause: found, .. } if *found == cause));
        assert_eq!(reason.blames_image(), cause == Cause::Image, "{reason}");
        assert_eq!(
            remembered(&reason).len(),
            usize::from(cause == Cause::Image)
        );
    }
}

#[test]
fn a_required_check_says_whose_fault_it_is() {
    let health = |cause| Health {
        required: vec![
            ("10-other".into(), Check::Pass),
            ("20-storage".into(), Check::Broken("array rebuilds".into())),
        ],
        causes: Causes {
            required: vec![Cause::Image, cause],
            ..Causes::default()
        },
        ..healthy()
    };
    let reason = |cause| reverting(&next(&at(60, health(cause)), &trial()).0);
    assert!(reason(Cause::Image).blames_image());
    let others = reason(Cause::Neighbour);
    assert!(!others.blames_image());
    assert!(others.to_string().contains("the image is not blamed"));
}

#[test]
fn a_check_that_could_not_be_made_blames_no_image() {
    let pending = Health {
        ready: Check::Pending("the kubelet has not reported since this boot".into()),
        ..healthy()
    };
    let reached = at(700, pending).with(|seen| seen.node.api = on_trial().node.api);
    let reason = reverting(&next(&reached, &trial()).0);
    assert!(
        matches!(
            &reason,
            Reason::Unhealthy {
                cause: Cause::Unclear,
                ..
            }
        ),
        "{reason:?}"
    );
    assert!(!reason.blames_image());
}

/// A new kubelet that refuses a flag which only kubeadm takes out.
fn before_kubeadm(seconds: u64, api: Api) -> Observation {
    let health = Health {
        kubelet: Check::Fail("healthz on 127.0.0.1:10248: connection refused".into()),
        kubeadm: Check::Fail("kubeadm ended with exit status 1".into()),
        ready: Check::Pending("not yet".into()),
        version: Check::Pending("not yet".into()),
        causes: Causes {
            kubeadm: Cause::Unclear,
            ..Causes::default()
        },
        ..healthy()
    };
    at(seconds, health).with(|seen| seen.node.api = api)
}

fn since(seconds: u64) -> Api {
    Api::Reached {
        since: SinceBoot(0).plus_seconds(seconds),
        version: None,
    }
}

#[test]
fn kubelet_without_kubeadm_and_server_waits_and_is_not_blamed() {
    let (record, act) = next(&before_kubeadm(600, Api::Away), &trial());
    assert_eq!(act, Act::Wait(Some(SinceBoot(1_500_000))));
    let (record, act) = next(&before_kubeadm(1_500, Api::Away), &record);
    assert_eq!(act, Act::Begin(Step::Reboot { force: false }));
    let given_up = record.upgrade.unwrap().attempt.given_up.unwrap();
    assert!(matches!(given_up, Reason::ApiAwayInTrial { .. }));
}

#[test]
fn server_behind_this_kubelets_own_static_pod_condemns_no_image() {
    let mut record = trial();
    // The old system has reached the server since: its kubelet runs the static pod.
    record.upgrade.as_mut().unwrap().api.compared = true;
    let reason = reverting(&next(&before_kubeadm(1_500, Api::Away), &record).0);
    assert!(
        matches!(
            &reason,
            Reason::Unhealthy {
                cause: Cause::ApiServer,
                ..
            }
        ),
        "{reason:?}"
    );
    assert!(remembered(&reason).is_empty());
    assert!(
        reason.to_string().contains("kubeadm upgrade node"),
        "{reason}"
    );
}

#[test]
fn server_back_at_the_last_second_leaves_kubeadm_its_time() {
    let (_, act) = next(&before_kubeadm(591, since(590)), &trial());
    assert_eq!(act, Act::Begin(Step::Kubeadm));
    let (_, act) = next(&before_kubeadm(700, since(590)), &trial());
    assert_eq!(act, Act::Begin(Step::Kubeadm), "past the usual deadline");
    let reason = reverting(&next(&before_kubeadm(1_190, since(590)), &trial()).0);
    assert!(!reason.blames_image(), "{reason}");
}

#[test]
fn kubelet_that_fails_with_its_new_configuration_is_the_images() {
    let health = Health {
        kubelet: Check::Fail("connection refused".into()),
        ..healthy()
    };
    let reason = reverting(&next(&at(600, health), &trial()).0);
    assert!(reason.blames_image(), "{reason}");
}

/// Back in the old system after the last trial that the policy allows.
fn back() -> (Observation, Record) {
    let mut record = trial();
    let up = record.upgrade.as_mut().unwrap();
    (up.attempt.tries, up.attempt.guarded) = (2, Some(boot(2)));
    let seen = asked().with(|seen| {
        seen.turn.boot = boot(3);
        seen.machine.deployments = vec![held('a'), deployment('b')];
    });
    (seen, record)
}

fn no_verdict(last: LastTrial) -> Reason {
    let (seen, record) = back();
    reverting(&next(&seen.with(|seen| seen.machine.last_trial = last), &record).0)
}

#[test]
fn reset_from_outside_ends_the_upgrade_without_blame() {
    let reason = no_verdict(LastTrial {
        noted: Some(TrialNote {
            boot: boot(2),
            seconds: 291,
            open: Some("kubelet".into()),
        }),
        ..LastTrial::default()
    });
    assert_eq!(reason.code(), "NoVerdict");
    assert!(remembered(&reason).is_empty());
    let text = reason.to_string();
    for words in ["291 s", "waited for kubelet", "reset from outside"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn panic_watchdog_and_deadman_are_evidence_against_the_image() {
    for end in [TrialEnd::Panic, TrialEnd::Watchdog, TrialEnd::Deadman] {
        let end = Some(end);
        let reason = no_verdict(LastTrial {
            end,
            ..LastTrial::default()
        });
        assert!(reason.blames_image(), "{reason}");
    }
    let end = Some(TrialEnd::Unheard);
    assert!(
        !no_verdict(LastTrial {
            end,
            ..LastTrial::default()
        })
        .blames_image()
    );
}

/// A node-health operator and sbd have a watchdog of their own, by which they reset the machine.
#[test]
fn reset_by_a_watchdog_of_another_program_blames_no_image() {
    let end = Some(TrialEnd::OtherWatchdog);
    let reason = no_verdict(LastTrial {
        end,
        ..LastTrial::default()
    });
    let text = reason.to_string();
    assert!(remembered(&reason).is_empty(), "{text}");
    assert!(text.contains("the image is not blamed"), "{text}");
}

/// A drop-in of the node lets the kubelet wait for a clock that no server sets.
#[test]
fn deadman_of_a_boot_without_an_agent_blames_no_image() {
    let end = Some(TrialEnd::Unstarted);
    let reason = no_verdict(LastTrial {
        end,
        ..LastTrial::default()
    });
    let text = reason.to_string();
    assert!(remembered(&reason).is_empty(), "{text}");
    for words in ["its agent noted nothing", "the image is not blamed"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let (seen, mut record) = back();
    record.upgrade.as_mut().unwrap().attempt.ended_by = Some(TrialEnd::Deadman);
    let seen = seen.with(|seen| seen.machine.last_trial.end = end);
    assert!(reverting(&next(&seen, &record).0).blames_image());
}

#[test]
fn panic_from_outside_blames_no_image_unless_another_trial_does() {
    let last = LastTrial {
        end: Some(TrialEnd::OutsidePanic),
        shown_by: Some("/sys/fs/pstore/dmesg-1: \"softlockup: hung tasks\"".into()),
        ..LastTrial::default()
    };
    let reason = no_verdict(last.clone());
    let text = reason.to_string();
    assert!(!reason.blames_image(), "{text}");
    for words in ["outside of the image", "softlockup: hung tasks"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let (seen, mut record) = back();
    record.upgrade.as_mut().unwrap().attempt.ended_by = Some(TrialEnd::Panic);
    let seen = seen.with(|seen| seen.machine.last_trial = last);
    assert!(reverting(&next(&seen, &record).0).blames_image());
}

#[test]
fn dead_trial_is_told_with_its_evidence_and_last_errors() {
    let reason = no_verdict(LastTrial {
        end: Some(TrialEnd::Panic),
        shown_by: Some("/sys/fs/pstore/dmesg-efi-1".into()),
        errors: vec!["kernel: BUG: x".into(), "kubelet: no disk".into()],
        ..LastTrial::default()
    });
    let text = reason.to_string();
    for words in [
        "/sys/fs/pstore/dmesg-efi-1",
        "kernel: BUG: x | kubelet: no disk",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(reason.blames_image());
    let errors = vec!["kubelet: no disk".into()];
    let alone = no_verdict(LastTrial {
        errors,
        ..LastTrial::default()
    });
    assert!(alone.to_string().contains("no disk") && !alone.blames_image());
}

#[test]
fn evidence_of_an_earlier_trial_counts_at_the_end() {
    let (seen, mut record) = back();
    record.upgrade.as_mut().unwrap().attempt.tries = 1;
    let panicked = seen
        .clone()
        .with(|seen| seen.machine.last_trial.end = Some(TrialEnd::Panic));
    let (mut record, _) = next(&panicked, &record);
    let up = record.upgrade.as_mut().unwrap();
    assert_eq!(up.attempt.ended_by, Some(TrialEnd::Panic));
    (up.attempt.tries, up.phase) = (2, Phase::Trial { boot: boot(2) });
    assert!(reverting(&next(&seen, &record).0).blames_image());
}

#[test]
fn note_of_another_boot_says_nothing_of_the_last_trial() {
    let reason = no_verdict(LastTrial {
        noted: Some(TrialNote {
            boot: boot(7),
            seconds: 4,
            open: None,
        }),
        ..LastTrial::default()
    });
    assert!(reason.to_string().contains("passed its guard"), "{reason}");
}

#[test]
fn a_damaged_disk_condemns_no_image_and_a_wrong_root_does() {
    let stage = |unsound| {
        on_trial().with(|seen| {
            seen.turn.home = Home::Stage;
            seen.machine.integrity = Some(Err(unsound));
        })
    };
    let armed = upgrade_in(Phase::Armed { boot: boot(1) });
    let refused = |unsound| reverting(&next(&stage(unsound), &armed).0);
    assert!(!refused(Unsound::of_the_disk("usr/bin/kubelet differs".into())).blames_image());
    assert!(refused(Unsound::of_the_initramfs("no /usr".into())).blames_image());
}

#[test]
fn older_record_blames_the_image_and_a_newer_word_does_not() {
    let read = |cause: &str| -> Reason {
        let text = format!(
            r#"{{"code":"Unhealthy","check":"kubelet","detail":"x","seconds":600{cause}}}"#
        );
        serde_json::from_str(&text).unwrap()
    };
    assert!(read("").blames_image());
    assert!(!read(r#","cause":"node""#).blames_image());
    assert!(!read(r#","cause":"the-moon""#).blames_image());
    let written = serde_json::to_string(&read("")).unwrap();
    assert!(!written.contains("cause"), "{written}");
    let older = r#"{"code":"NoVerdict","commit":"bbbb","tries":2}"#;
    let older: Reason = serde_json::from_str(older).unwrap();
    assert!(older.blames_image() && older.to_string().contains("panic, hang or power cut"));
}
