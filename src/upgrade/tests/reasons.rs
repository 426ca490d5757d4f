//! Every reason: what it tells a person, what becomes of the upgrade, and that it is read again as
//! it was written.
#![allow(clippy::unwrap_used)]

mod form;
mod scene;

use std::collections::BTreeSet;

use scene::reasons::{all, place};
use scene::*;
use upgrade::reason::Wait;
use upgrade::record::{BadImage, Retry};
use upgrade::*;

#[test]
fn the_list_of_reasons_names_each_once() {
    let places: BTreeSet<_> = all().iter().map(place).collect();
    let whole: BTreeSet<_> = (0..all().len()).collect();
    assert_eq!(places, whole, "a variant is missing in the list, or twice");
}

#[test]
fn every_reason_has_a_code_of_its_own_and_survives_json() {
    let mut codes = BTreeSet::new();
    for reason in all() {
        let text = serde_json::to_string(&reason).unwrap();
        assert_eq!(serde_json::from_str::<Reason>(&text).unwrap(), reason);
        assert!(codes.insert(reason.code()), "{} twice", reason.code());
    }
}

/// The provider sees a node's reason by its code alone.
#[test]
fn a_wait_is_known_by_its_code_as_by_its_reason() {
    for reason in all() {
        assert_eq!(Wait::of(&reason.code()), reason.waits_for(), "{reason:?}");
    }
}

#[test]
fn every_reason_has_the_form_what_detail_action() {
    for reason in all() {
        assert_eq!(form::fault(&reason.to_string()), None, "{}", reason.code());
    }
}

#[test]
fn the_full_stop_of_somebody_elses_words_is_not_doubled() {
    let detail = "The disk is full.\n".to_owned();
    let text = Reason::ArmFailed { detail }.to_string();
    assert!(text.contains(": The disk is full. Make /boot"), "{text}");
}

/// What a person needs to correct a bad input: where it is, what was found there, and what is
/// accepted.
#[test]
fn input_refusals_name_the_field_the_value_and_what_is_accepted() {
    let image = "careen.dev/image";
    let info = "/usr/lib/careen/image.json";
    for (code, words) in [
        (
            "BadRequest",
            ["careen.dev/upgrade-id", "a b", "Use 1 to 63 of a-z"],
        ),
        (
            "BadPolicy",
            [
                "/etc/careen/policy.toml line 3",
                "trials is 0",
                "accepted is",
            ],
        ),
        ("RemoteNotAllowed", [image, "theirs", "ours"]),
        (
            "BranchNotAllowed",
            [image, "debug/x", "branches = [\"site/*\"]"],
        ),
        ("UnknownRemote", [image, "theirs", "ostree remote list"]),
        ("RememberedBad", ["image", "bbbb", "careen.dev/upgrade-id"]),
        ("NothingKept", [image, "kept:", "Ask for an image"]),
        ("RollbackOff", [image, "kept:", "rollback = true"]),
        ("NoSuchRef", [image, "os/none", "ostree remote refs theirs"]),
        ("NoSuchCommit", [image, "bbbb", "ostree remote refs"]),
        ("NoSuchImage", [image, "bbbb", "skopeo inspect"]),
        ("NotEncapsulated", [image, "bbbb", "careen-image"]),
        ("RemoteAway", [image, "theirs", "/etc/ostree/remotes.d"]),
        ("Unsigned", [image, "bbbb", "keyring"]),
        ("WrongSignature", [image, "bbbb", "trusted key"]),
        (
            "VerificationOff",
            ["gpg-verify=false", "theirs", "unsigned = true"],
        ),
        ("NoKernel", ["/usr/lib/modules", "no kernel", "exactly one"]),
        ("NoImageInfo", [info, "missing", "kubernetes"]),
        ("NoStage", [info, "\"stage\": 2", "with \"stage\": 1"]),
        (
            "NoAgent",
            ["bbbb", "careen-deadman.timer (not enabled)", "Use an image"],
        ),
        ("WrongArchitecture", [info, "aarch64", "x86_64"]),
        (
            "VersionMismatch",
            ["careen.dev/kubernetes-version", "v1.36.4", "v1.36.3"],
        ),
        ("Downgrade", [image, "v1.34.0", "downgrade = true"]),
        ("Downgrade", ["v1.35.4", "or newer", "\"kept:\" to go back"]),
        ("NewerThanApiServer", [image, "v1.36.3", "v1.35.4"]),
        ("SkewTooLarge", [image, "v1.32.0", "skew = 3"]),
        ("RecordNewer", ["format", "7", "up to 1"]),
        ("RecordDamaged", ["the record", "torn", "remove"]),
        (
            "RecordUnwritten",
            ["record.a.new", "No space left", "Make room"],
        ),
        (
            "MachineUnseen",
            ["/boot/loader", "Input/output", "Fix that"],
        ),
    ] {
        let reason = all().into_iter().find(|reason| reason.code() == code);
        let text = reason.unwrap().to_string();
        for word in words {
            assert!(text.contains(word), "{code}: no {word:?} in: {text}");
        }
    }
}

#[test]
fn old_no_stage_reason_is_read_and_says_the_stage_is_missing() {
    let older = r#"{"code":"NoStage","commit":"bbbb"}"#;
    let reason: Reason = serde_json::from_str(older).unwrap();
    assert!(
        reason.to_string().contains("has no \"stage\" in"),
        "{reason}"
    );
}

/// A record with everything in it, in this phase and for this reason.
fn full(phase: Phase, reason: Reason) -> Record {
    let due = || Moment {
        boot: boot(7),
        at: SinceBoot(5),
    };
    let mut record = upgrade_in(phase);
    let up = record.upgrade.as_mut().unwrap();
    up.retry = Some(Retry {
        step: StepKind::Fetch.into(),
        tries: 3,
        due: due(),
        reason: reason.clone(),
    });
    up.attempt.hold = Some(due());
    up.custody = taken(|taken| taken.drain_begun = Some(due()));
    up.api.from_old = true;
    let blocked = Some(reason.clone());
    up.rehearsal = record::Rehearsal::Held { blocked };
    up.attempt.given_up = Some(reason.clone());
    record.refused = Some(record::Refused { id: None, reason });
    record.spent = Some(pinned('b'));
    record.remember_bad(BadImage {
        digest: digest('b'),
        because: "Unhealthy".into(),
        id: "u1".parse().unwrap(),
        asked_again: true,
    });
    record
}

#[test]
fn every_record_is_read_as_it_was_written() {
    for reason in all() {
        let with_reason = [
            Phase::Reverting {
                reason: reason.clone(),
            },
            Phase::Failed {
                reason: reason.clone(),
            },
            Phase::Halted {
                reason: reason.clone(),
            },
        ];
        for phase in phases().into_iter().chain(with_reason) {
            for step in steps().into_iter().map(|(step, _)| step) {
                let mut record = full(phase.clone(), reason.clone());
                record.upgrade.as_mut().unwrap().intent = Some(step);
                let text = serde_json::to_string(&record).unwrap();
                assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
            }
        }
    }
}
