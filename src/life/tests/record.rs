//! The record as it is on the disk.
#![allow(clippy::unwrap_used)]

mod scene;

use life::{Record, Stay};
use scene::{claim, id, of, stages};
use serde_json::{Value, json};

#[test]
fn every_stage_reads_as_it_was_written() {
    for stage in stages() {
        let record = of(Stay {
            stage,
            ..Stay::new(claim('a'))
        });
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
    }
}

#[test]
fn fields_of_a_newer_version_are_kept() {
    let text = json!({
        "format": 2, "min_reader": 1, "generation": 7, "weather": "fine",
        "stay": { "claim": claim('a'), "stage": { "name": "Joined" }, "mood": [1] },
    });
    let record: Record = serde_json::from_value(text.clone()).unwrap();
    assert_eq!(serde_json::to_value(&record).unwrap(), text);
}

#[test]
fn the_last_claims_that_ended_are_remembered() {
    let mut record = Record::default();
    for number in 0..100_u64 {
        record.end(format!("{number:016x}").parse().unwrap());
    }
    assert_eq!(record.ended.len(), 64);
    assert!(record.has_ended(&"0000000000000063".parse().unwrap()));
    record.end(id('a'));
    record.end(id('a'));
    assert_eq!(
        record
            .ended
            .iter()
            .filter(|known| **known == id('a'))
            .count(),
        1
    );
}

#[test]
fn a_claim_id_is_sixteen_hexadecimal_digits() {
    for bad in [
        "",
        "9f3c",
        "9F3C9F3C9F3C9F3C",
        "../../../../../../a",
        &"a".repeat(17),
    ] {
        assert!(
            serde_json::from_value::<life::ClaimId>(Value::from(bad)).is_err(),
            "{bad}"
        );
    }
}

#[test]
fn a_claim_reads_as_the_provider_writes_it() {
    let text = json!({
        "id": "9f3c9f3c9f3c9f3c", "machine": "worker-1", "cluster": "north",
        "image": "docker://r/os@sha256:1", "version": "v1.36.3",
        "providerID": "careen://fleet/n-1/9f3c9f3c9f3c9f3c", "wanted": "Joined", "release": "Keep",
        "bootstrapHash": "7".repeat(64), "somethingNewer": true,
    });
    let claim: life::Claim = serde_json::from_value(text).unwrap();
    assert_eq!(
        (claim.release, claim.join_seconds),
        (life::Release::Keep, 1200)
    );
    for field in ["wanted", "release"] {
        let mut bad = serde_json::to_value(&claim).unwrap();
        bad[field] = "Factory".into();
        assert!(
            serde_json::from_value::<life::Claim>(bad).is_err(),
            "{field}"
        );
    }
}
