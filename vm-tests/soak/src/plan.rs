//! Selects the cuts of a run. The first ones are in each step of either way. The next ones are at
//! every other write of the record and at every phase change of the Node. The seed selects the
//! rest, more often near flushes than elsewhere.

use std::collections::BTreeSet;

use fastrand::Rng;
use rig::fate::Fate;
use rig::writes::Request;

use super::cut::Cut;
use super::place::Recorded;
use super::recording::Moment;
use super::way::Way;

/// One of this many cuts is on the way back, the others are in the upgrade to its blessing.
const FALLBACK: usize = 3;

/// In one of this many cuts of a way the upgrade continues to its end, which takes the longest.
const GOES_ON: usize = 4;

/// Added to the seed for the fate of the writes. These are drawn apart from the places, so they do
/// not depend on the number of places.
const FATES: u64 = 0x9e37_79b9_7f4a_7c15;

/// The way of the cut with this number.
const fn way_of(index: usize) -> Way {
    if index % FALLBACK == FALLBACK - 1 {
        Way::Fallback
    } else {
        Way::Upgrade
    }
}

/// The cuts of one seed. A longer plan begins with the shorter one.
#[must_use]
pub fn cuts(recorded: &[Recorded], count: usize, seed: u64) -> Vec<Cut> {
    let mut cuts = Vec::new();
    for one in recorded {
        let indices = (0..count).filter(|index| way_of(*index) == one.way);
        cuts.extend(of_one(one, &indices.collect::<Vec<_>>(), seed));
    }
    cuts.sort_by_key(|cut| cut.index);
    cuts
}

fn of_one(one: &Recorded, indices: &[usize], plan: u64) -> Vec<Cut> {
    // Each way draws on its own, so that it does not depend on the other.
    let seed = plan.wrapping_mul(2).wrapping_add(one.way as u64);
    let places = places(one, indices.len(), seed);
    let mut rng = Rng::with_seed(seed.wrapping_add(FATES));
    let numbered = indices.iter().zip(places).enumerate();
    numbered
        .map(|(nth, (index, after))| Cut {
            plan,
            index: *index,
            way: one.way,
            after,
            fate: [Fate::Kept, Fate::Lost, Fate::Torn, Fate::Torn][rng.usize(..4)],
            seed: rng.u64(..),
            goes_on: nth % GOES_ON == 0,
        })
        .collect()
}

fn places(one: &Recorded, count: usize, seed: u64) -> Vec<usize> {
    let (requests, mut rng) = (&one.log.requests, Rng::with_seed(seed));
    let flushes: Vec<usize> = (one.begin()..requests.len())
        .filter(|at| requests[*at] == Request::Flush)
        .collect();
    let mut places = at_steps(one, &flushes, &mut rng);
    while places.len() < count {
        places.push(place(&mut rng, one.begin()..requests.len() + 1, &flushes));
    }
    places.truncate(count);
    places
}

/// A short run should cut each step once before it cuts one twice.
fn at_steps(one: &Recorded, flushes: &[usize], rng: &mut Rng) -> Vec<usize> {
    let ends = one.steps().skip(1).map(|next| next.after);
    let ends = ends.chain(std::iter::once(usize::MAX));
    let mut steps: Vec<_> = one.steps().zip(ends).collect();
    rng.shuffle(&mut steps);
    let mut known = BTreeSet::new();
    let (mut places, mut others) = (Vec::new(), Vec::new());
    for (step, end) in steps {
        let place = behind(step.after..end, flushes, rng);
        if known.insert(step.name()) {
            places.push(place);
        } else {
            others.push(place);
        }
    }
    others.extend(turns(&one.recording.moments));
    rng.shuffle(&mut others);
    places.extend(others);
    places
}

/// The changes of the Node's phase or cordon. Most other changes only update a counter, and would
/// leave no cuts for the seed.
fn turns(moments: &[Moment]) -> impl Iterator<Item = usize> {
    let told = |moment: &Moment| (moment.phase.clone(), moment.node["spec"].clone());
    let turns = moments.iter().enumerate().filter(move |(at, moment)| {
        let before = at.checked_sub(1).and_then(|at| moments.get(at));
        before.map(told) != Some(told(moment))
    });
    turns.map(|(_, moment)| moment.after)
}

/// A record is written, flushed, renamed and flushed again. The cut comes with the write as the
/// last request, or after the first or second flush, if the next record is not written by then.
fn behind(step: std::ops::Range<usize>, flushes: &[usize], rng: &mut Rng) -> usize {
    let next = flushes.partition_point(|flush| *flush < step.start);
    let chosen = [None, flushes.get(next), flushes.get(next + 1)][rng.usize(..3)];
    let place = chosen.map(|flush| flush + 1);
    place.filter(|at| step.contains(at)).unwrap_or(step.start)
}

/// Just before or after a flush, where order matters; or anywhere.
fn place(rng: &mut Rng, all: std::ops::Range<usize>, flushes: &[usize]) -> usize {
    match (rng.u8(..3), rng.choice(flushes)) {
        (0, Some(flush)) => *flush,
        (1, Some(flush)) => flush + 1,
        _ => rng.usize(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::Mark;
    use crate::recording::Recording;
    use rig::writes::Log;
    use serde_json::{Value, json};

    fn recorded(way: Way) -> Recorded {
        let moment = |(after, phase): (usize, &str)| Moment {
            after,
            phase: phase.to_owned(),
            node: Value::Null,
        };
        let mark = |after: usize| Mark {
            after,
            phase: "Accepted".to_owned(),
            step: None,
        };
        Recorded {
            way,
            recording: Recording {
                moments: [(3, "Accepted"), (40, "Fetched"), (70, "Verified")]
                    .map(moment)
                    .into(),
                ..Recording::default()
            },
            // A mark of the previous upgrade, before the request.
            marks: [1, 20, 50].map(mark).into(),
            log: Log::of((0..100).map(|_| Request::Flush).collect()).unwrap(),
        }
    }

    #[test]
    fn longer_plan_extends_the_shorter_one_and_cuts_each_step() {
        let both = Way::ALL.map(recorded);
        let (short, long) = (cuts(&both, 20, 7), cuts(&both, 50, 7));
        assert_eq!(short, long[..20]);
        for way in Way::ALL {
            let near = |step: usize| {
                let there = |cut: &&Cut| cut.way == way && (step..step + 3).contains(&cut.after);
                short.iter().any(|cut| there(&cut))
            };
            for step in [3, 20, 40, 50, 70] {
                assert!(near(step), "{way}, {step}");
            }
        }
        assert!(long.iter().all(|cut| cut.after >= 3));
    }

    #[test]
    fn plan_cuts_each_step_once_before_it_repeats_one() {
        let mut one = recorded(Way::Upgrade);
        let names = ["Accepted", "Fetched", "Verified", "Fetched", "Accepted"];
        let mark = |(at, name): (usize, &&str)| Mark {
            after: 10 + 5 * at,
            phase: (*name).to_owned(),
            step: None,
        };
        one.marks = names.iter().enumerate().map(mark).collect();
        for seed in 0..20 {
            let first: BTreeSet<_> = cuts(std::slice::from_ref(&one), 4, seed)
                .iter()
                .map(|cut| one.place(cut.after).unwrap().step())
                .collect();
            let wanted = ["Accepted", "Fetched", "Verified"].map(str::to_owned);
            assert_eq!(first, BTreeSet::from(wanted), "seed {seed}");
        }
    }

    #[test]
    fn a_node_that_only_counts_on_takes_no_cut_from_the_seed() {
        let moment = |(after, phase, cordoned, percent): (usize, &str, bool, u8)| Moment {
            after,
            phase: phase.to_owned(),
            node: json!({"metadata": percent, "spec": {"unschedulable": cordoned}}),
        };
        let moments = [
            (3, "Accepted", false, 0),
            (5, "Accepted", false, 7),
            (8, "Deployed", false, 35),
            (9, "Deployed", true, 35),
            (12, "Deployed", true, 40),
        ];
        let moments = moments.map(moment);
        assert_eq!(turns(&moments).collect::<Vec<_>>(), [3, 8, 9]);
    }

    #[test]
    fn one_in_three_is_cut_on_its_way_back_and_some_of_each_go_on() {
        let plan = cuts(&Way::ALL.map(recorded), 30, 1);
        let back = plan.iter().filter(|cut| cut.way == Way::Fallback);
        assert_eq!(back.count(), 10);
        for way in Way::ALL {
            assert!(plan.iter().any(|cut| cut.way == way && cut.goes_on));
            assert!(plan.iter().any(|cut| cut.way == way && !cut.goes_on));
        }
    }

    #[test]
    fn another_seed_makes_other_cuts() {
        let both = Way::ALL.map(recorded);
        assert_ne!(cuts(&both, 30, 1), cuts(&both, 30, 2));
    }
}
