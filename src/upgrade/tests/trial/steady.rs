//! A verdict needs checks that stay good for a while.

use super::*;

fn well(seconds: u64) -> Observation {
    at(seconds).with(|seen| seen.turn.health = healthy())
}

#[test]
fn passed_checks_must_hold_for_the_steady_seconds() {
    let policy = Ok(Policy::default());
    let (record, act) = next_with(&well(60), &trial(), &policy);
    assert_eq!(phase_of(&record), Phase::Trial { boot: boot(2) });
    assert_eq!(act, Act::Wait(Some(SinceBoot(90_000))));
    assert_eq!(record.upgrade.as_ref().unwrap().waits, None, "no word");
    let (early, _) = next_with(&well(89), &record, &policy);
    assert_eq!(phase_of(&early), Phase::Trial { boot: boot(2) });
    let (_, act) = next_with(&well(90), &record, &policy);
    assert_eq!(begun(&act), Some("Bless"));
}

#[test]
fn kubelet_that_crashes_in_a_loop_is_never_steady() {
    let policy = Ok(Policy::default());
    let mut record = trial();
    for second in (60..620).step_by(20) {
        record = next_with(&well(second), &record, &policy).0;
        record = next_with(&ill(second + 10), &record, &policy).0;
        let phase = phase_of(&record);
        assert!(!matches!(phase, Phase::Healthy { .. }), "at {second}");
    }
    let (record, _) = next_with(&ill(640), &record, &policy);
    assert!(matches!(phase_of(&record), Phase::Reverting { .. }));
}
