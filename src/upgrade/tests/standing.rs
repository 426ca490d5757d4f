//! When agents may be changed on a node, by what the record says.
#![allow(clippy::unwrap_used)]

mod scene;

use scene::*;
use upgrade::*;

fn standing(record: &Record) -> Standing {
    Standing::of(record)
}

#[test]
fn a_node_that_was_never_asked_is_free() {
    assert_eq!(standing(&Record::default()), Standing::Free);
}

#[test]
fn it_is_free_again_when_the_upgrade_has_ended_and_not_before() {
    for phase in phases() {
        let record = upgrade_in(phase.clone());
        let is_free = standing(&record) == Standing::Free;
        assert_eq!(is_free, phase.is_end(), "{}", phase.name());
    }
}

#[test]
fn from_arming_to_the_verdict_everything_is_frozen() {
    for phase in phases() {
        let has_armed = matches!(
            phase,
            Phase::Armed { .. }
                | Phase::Trial { .. }
                | Phase::Healthy { .. }
                | Phase::Blessed
                | Phase::Reverting { .. }
        );
        let is_frozen = standing(&upgrade_in(phase.clone())) == Standing::Frozen;
        assert_eq!(is_frozen, has_armed, "{}", phase.name());
    }
}

#[test]
fn between_two_trials_it_stays_frozen() {
    let mut record = upgrade_in(Phase::Drained);
    record.upgrade.as_mut().unwrap().tries = 1;
    assert_eq!(standing(&record), Standing::Frozen);
}

#[test]
fn the_stronger_standing_is_the_greater() {
    assert!(Standing::Free < Standing::UnderWay && Standing::UnderWay < Standing::Frozen);
}
