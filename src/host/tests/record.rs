//! The record survives what a disk and another version can do to it.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;

use host::record::{Store, StoreError};
use tempfile::TempDir;
use upgrade::decide::RecordRead;
use upgrade::record::Rehearsal;
use upgrade::{Phase, Reason, Record, RecordStore};

fn store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    (folder, store)
}

fn of_generation(generation: u64) -> Record {
    Record {
        generation,
        answered: generation.wrapping_mul(10),
        ..Record::default()
    }
}

fn copy(folder: &TempDir, name: &str) -> std::path::PathBuf {
    folder.path().join("ostree/careen").join(name)
}

fn seal(text: &str) -> String {
    use sha2::{Digest as _, Sha256};
    let sum: String = Sha256::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{text}\nsha256:{sum}\n")
}

#[test]
fn where_none_was_written_there_is_the_default() {
    assert_eq!(store().1.read(), Ok(Record::default()));
}

#[test]
fn what_was_stored_is_read_and_the_copies_take_turns() {
    let (folder, mut store) = store();
    for generation in 1..=3 {
        store.store(&of_generation(generation)).unwrap();
        assert_eq!(store.read(), Ok(of_generation(generation)));
    }
    let text = |name| fs::read_to_string(copy(&folder, name)).unwrap();
    assert!(text("record.a").contains("\"generation\": 3"));
    assert!(text("record.b").contains("\"generation\": 2"));
}

#[test]
fn only_root_may_look_inside() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, mut store) = store();
    store.store(&of_generation(1)).unwrap();
    let mode = fs::metadata(folder.path().join("ostree/careen"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_folder_that_is_a_link_is_not_written_into() {
    let (folder, mut store) = store();
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir_all(folder.path().join("ostree")).unwrap();
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, folder.path().join("ostree/careen")).unwrap();
    assert!(store.store(&of_generation(1)).is_err());
    assert_eq!(fs::read_dir(elsewhere).unwrap().count(), 0);
}

#[test]
fn with_one_copy_damaged_in_any_byte_the_other_is_the_record() {
    let (folder, mut store) = store();
    store.store(&of_generation(1)).unwrap();
    store.store(&of_generation(2)).unwrap();
    let path = copy(&folder, "record.b");
    let good = fs::read(&path).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x20;
        fs::write(&path, &bad).unwrap();
        assert_eq!(store.read(), Ok(of_generation(1)), "byte {at}");
    }
    for length in 0..good.len() {
        fs::write(&path, &good[..length]).unwrap();
        assert_eq!(store.read(), Ok(of_generation(1)), "cut at {length}");
    }
}

#[test]
fn after_damage_the_next_record_goes_over_the_damaged_copy() {
    let (folder, mut store) = store();
    store.store(&of_generation(1)).unwrap();
    store.store(&of_generation(2)).unwrap();
    fs::write(copy(&folder, "record.b"), "torn").unwrap();
    store.store(&of_generation(2)).unwrap();
    assert_eq!(store.read(), Ok(of_generation(2)));
    assert!(
        fs::read_to_string(copy(&folder, "record.a"))
            .unwrap()
            .contains("\"generation\": 1")
    );
}

#[test]
fn two_damaged_copies_ask_for_manual_removal_and_block_writes() {
    let (folder, mut store) = store();
    store.store(&of_generation(1)).unwrap();
    store.store(&of_generation(2)).unwrap();
    for name in ["record.a", "record.b"] {
        fs::write(copy(&folder, name), "x").unwrap();
    }
    let told = store.read().unwrap_err();
    assert!(matches!(told, Reason::RecordDamaged { .. }));
    let advice = "remove /sysroot/ostree/careen/record.*";
    assert!(told.to_string().contains(advice), "{told}");
    assert!(matches!(
        store.store(&of_generation(3)),
        Err(StoreError::Unreadable(_))
    ));
    assert_eq!(fs::read(copy(&folder, "record.a")).unwrap(), b"x");
}

#[test]
fn unreadable_copy_is_not_replaced_by_the_older_one() {
    let (folder, mut store) = store();
    store.store(&of_generation(1)).unwrap();
    store.store(&of_generation(2)).unwrap();
    // Reading a folder fails like reading from a failing disk, for every user.
    let path = copy(&folder, "record.b");
    let newer = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let told = store.read().unwrap_err();
    assert!(matches!(told, Reason::RecordDamaged { .. }));
    let text = told.to_string();
    assert!(
        text.contains("record.b") && text.contains("remove it"),
        "{text}"
    );
    let refused = store.store(&of_generation(3));
    assert!(matches!(refused, Err(StoreError::Unreadable(_))));
    fs::remove_dir(&path).unwrap();
    fs::write(&path, newer).unwrap();
    assert_eq!(store.read(), Ok(of_generation(2)), "it was there all along");
}

#[test]
fn store_refuses_an_older_or_conflicting_generation() {
    let (_folder, mut store) = store();
    store.store(&of_generation(5)).unwrap();
    store.store(&of_generation(5)).unwrap();
    let other = Record {
        answered: 1,
        ..of_generation(5)
    };
    for refused in [of_generation(4), other] {
        assert!(matches!(
            store.store(&refused),
            Err(StoreError::Stale { found: 5, .. })
        ));
    }
    assert_eq!(store.read(), Ok(of_generation(5)));
}

#[test]
fn record_requiring_a_newer_reader_is_not_read_or_overwritten() {
    let (folder, mut store) = store();
    store.store(&of_generation(1)).unwrap();
    let newer = seal(
        r#"{"format":7,"min_reader":7,"generation":2,"upgrade":"in a shape nobody knows here"}"#,
    );
    fs::write(copy(&folder, "record.b"), &newer).unwrap();
    assert_eq!(
        store.read(),
        Err(Reason::RecordNewer {
            format: 7,
            known: 1
        })
    );
    assert!(matches!(
        store.store(&of_generation(3)),
        Err(StoreError::Unreadable(_))
    ));
    assert_eq!(
        fs::read_to_string(copy(&folder, "record.b")).unwrap(),
        newer
    );
}

#[test]
fn intact_but_unparsable_record_does_not_advise_removal() {
    let (folder, mut store) = store();
    store.store(&of_generation(1)).unwrap();
    let odd =
        seal(r#"{"format":1,"min_reader":1,"generation":2,"upgrade":"in a shape of its own"}"#);
    fs::write(copy(&folder, "record.b"), odd).unwrap();
    let told = store.read().unwrap_err();
    assert!(matches!(told, Reason::RecordDamaged { .. }));
    let text = told.to_string();
    assert!(
        !text.contains("remove") && text.contains("the version that wrote it"),
        "{text}"
    );
}

#[test]
fn a_copy_that_nothing_could_follow_is_damaged() {
    let (folder, mut store) = store();
    store.store(&of_generation(1)).unwrap();
    let last = format!(r#"{{"format":1,"min_reader":1,"generation":{}}}"#, u64::MAX);
    fs::write(copy(&folder, "record.b"), seal(&last)).unwrap();
    assert_eq!(store.read(), Ok(of_generation(1)));
    store.store(&of_generation(2)).unwrap();
    assert_eq!(store.read(), Ok(of_generation(2)));
}

#[test]
fn a_record_that_nothing_could_follow_is_not_written() {
    let (_folder, mut store) = store();
    store.store(&of_generation(u64::MAX - 1)).unwrap();
    let error = store.store(&of_generation(u64::MAX)).unwrap_err();
    assert!(error.to_string().contains("is the last one"), "{error}");
    assert_eq!(store.read(), Ok(of_generation(u64::MAX - 1)));
}

#[test]
fn what_a_newer_version_added_is_kept() {
    let (folder, mut store) = store();
    store.store(&of_generation(1)).unwrap();
    let newer = seal(r#"{"format":2,"min_reader":1,"generation":2,"weather":{"sky":"clear"}}"#);
    fs::write(copy(&folder, "record.b"), newer).unwrap();
    let mut record = store.read().unwrap();
    record.generation += 1;
    store.store(&record).unwrap();
    let text = fs::read_to_string(copy(&folder, "record.a")).unwrap();
    assert!(text.contains("weather") && text.contains("clear"), "{text}");
}

#[test]
fn unknown_reason_from_a_newer_version_reads_as_failed() {
    let (folder, mut store) = store();
    store.store(&of_generation(1)).unwrap();
    let sample =
        Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("tests/samples/v1-failed");
    let sample = fs::read_to_string(sample).unwrap();
    let (text, _) = sample.rsplit_once("\nsha256:").unwrap();
    let newer = text.replace("Unhealthy", "MoonInTheWrongHouse");
    fs::write(copy(&folder, "record.b"), seal(&newer)).unwrap();
    let phase = store.read().unwrap().upgrade.unwrap().phase;
    assert_eq!(
        phase,
        Phase::Failed {
            reason: Reason::Unheard
        }
    );
}

/// Writer × reader: today's version reads every sample ever shipped as the same record as always.
/// The expected record is in a file beside it and never changes; a new sample gets its line by
/// `UPDATE_GOLDEN=1 cargo test`.
#[test]
fn every_frozen_sample_is_read_as_it_always_was() {
    let samples = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("tests/samples");
    let mut seen = 0;
    for file in fs::read_dir(samples).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some() {
            continue;
        }
        let (folder, mut store) = store();
        fs::create_dir_all(folder.path().join("ostree/careen")).unwrap();
        fs::copy(&path, copy(&folder, "record.a")).unwrap();
        let read = store.read();
        let beside = path.with_extension("expected");
        if std::env::var_os("UPDATE_GOLDEN").is_some() && !beside.exists() {
            fs::write(&beside, told(&read)).unwrap();
        }
        let expected = fs::read_to_string(&beside).unwrap();
        assert_eq!(told(&read), expected, "{}", path.display());
        if let Ok(mut record) = read {
            record.generation += 1;
            store.store(&record).unwrap();
            assert_eq!(store.read(), Ok(record), "{}", path.display());
        }
        seen += 1;
    }
    assert!(seen >= 5, "the samples are gone");
}

/// What a reader uses of the record, in this test's own words: fields that are added later do not
/// change it.
fn told(read: &RecordRead) -> String {
    let record = match read {
        Err(reason) => return format!("refused: {}\n", reason.code()),
        Ok(record) => record,
    };
    let mut lines = vec![
        format!(
            "generation {}, answered {}",
            record.generation, record.answered
        ),
        format!(
            "refused {:?}",
            record.refused.as_ref().map(|refused| refused.reason.code())
        ),
        format!(
            "spent {:?}",
            record.spent.as_ref().and_then(|raw| raw.image.as_deref())
        ),
        format!("unknown {:?}", record.unknown.keys().collect::<Vec<_>>()),
    ];
    for bad in &record.bad {
        lines.push(format!(
            "bad {} {} {}",
            bad.digest.short(),
            bad.because,
            bad.id
        ));
    }
    lines.extend(record.upgrade.iter().flat_map(told_of));
    lines.join("\n") + "\n"
}

/// The same for the upgrade in it.
fn told_of(up: &upgrade::Upgrade) -> Vec<String> {
    let to = up
        .to
        .as_ref()
        .map(|to| (to.digest.short(), to.serial, to.pinned));
    let kubernetes = up.facts.as_ref().and_then(|facts| facts.info.as_ref());
    vec![
        format!("upgrade {} to {}", up.id, up.target),
        format!("phase {}", serde_json::to_string(&up.phase).unwrap()),
        format!("intent {:?}", up.intent.as_ref().map(upgrade::Step::name)),
        format!(
            "from {} {} to {to:?}",
            up.from.digest.short(),
            up.from.serial
        ),
        format!(
            "carries {:?}",
            kubernetes.map(|info| info.kubernetes.to_string())
        ),
        format!(
            "tries {}, snapshot {}, rehearsed {}",
            up.attempt.tries,
            up.attempt.saved,
            up.rehearsal != Rehearsal::Due
        ),
        format!(
            "released {}, cleaned {}, closed {}",
            up.custody.is_given_back(),
            up.cleaned,
            up.closed
        ),
        format!(
            "deadline {}, guarded {:?}",
            up.attempt.deadline_seconds,
            up.attempt.guarded.as_ref().map(|boot| boot.as_str())
        ),
        format!(
            "retry {:?}",
            up.retry
                .as_ref()
                .map(|retry| (&retry.step, retry.tries, retry.reason.code()))
        ),
        format!(
            "given up {:?}",
            up.attempt.given_up.as_ref().map(Reason::code)
        ),
    ]
}
