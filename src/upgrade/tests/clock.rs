//! The clock on the wall decides nothing but whether the operator's hours have come: a node without
//! one starts in 1970, a wrong one says 2040, and both jump.
#![allow(clippy::unwrap_used)]

mod scene;

use scene::*;
use upgrade::*;

/// 1970, just before 2038's overflow, 2040, and the end of all clocks.
const WALLS: [u64; 5] = [0, 2_147_483_647, 2_208_988_800, u64::MAX - 1, u64::MAX];

/// Moments in each system, in time and late.
fn moments() -> Vec<Observation> {
    let now = |seconds| SinceBoot(0).plus_seconds(seconds);
    let base = [quiet(), asked(), on_trial()];
    let late = |seen: &Observation| {
        [30, 599, 600, 3000].map(|seconds| {
            seen.clone().with(|seen| {
                seen.turn.now = now(seconds);
                seen.turn.health = healthy();
            })
        })
    };
    let all = base.iter().flat_map(late);
    all.flat_map(|seen| {
        let back = seen.clone().with(|seen| {
            seen.turn.boot = boot(3);
            seen.machine.deployments = on_trial().machine.deployments;
        });
        [seen, back]
    })
    .collect()
}

/// The record without the times that are for display alone.
fn without_times((mut record, act): (Record, Act)) -> (Record, Act) {
    if let Some(up) = &mut record.upgrade {
        for reached in &mut up.reached {
            (reached.at, reached.waited) = (0, 0);
        }
        up.bill = bill::Bill::default();
    }
    for past in &mut record.past {
        (past.began, past.ended, past.seconds) = (0, 0, None);
    }
    (record, act)
}

#[test]
fn whatever_the_clock_on_the_wall_says_the_same_is_decided() {
    for seen in moments() {
        for phase in phases() {
            let record = upgrade_in(phase.clone());
            let decided = without_times(next(&seen, &record));
            for wall in WALLS {
                let other = seen.clone().with(|seen| seen.turn.wall = wall);
                let found = without_times(next(&other, &record));
                assert_eq!(found, decided, "{phase:?} at {wall}");
            }
        }
    }
}

#[test]
fn clock_jump_neither_ends_nor_extends_the_drain() {
    let at = |seconds, wall| {
        asked().with(|seen| {
            seen.turn.now = SinceBoot(0).plus_seconds(seconds);
            seen.turn.wall = wall;
        })
    };
    let (begun, _) = next(&at(100, WALL), &upgrade_in(Phase::Deployed));
    for wall in WALLS {
        let spent_seconds = 250;
        let (_, act) = next(&at(350, wall), &begun);
        assert_eq!(act, Act::Begin(Step::Drain { spent_seconds }), "at {wall}");
    }
}
