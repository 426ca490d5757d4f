//! Which cuts a run makes: one in each moment of the upgrade, then wherever the seed says, near flushes more often than elsewhere.

use fastrand::Rng;

use super::cut::{Cut, Fate};
use super::recording::Recording;
use super::writes::{Log, Request};

/// Of so many cuts one lets the upgrade go on to its end, which takes the longest.
const GOES_ON: usize = 4;

/// Added to the seed for what becomes of the writes: drawn apart from the places, it does not depend on how many there are.
const FATES: u64 = 0x9e37_79b9_7f4a_7c15;

/// The cuts of one seed. A longer plan begins with the shorter one.
#[must_use]
pub fn cuts(recording: &Recording, log: &Log, count: usize, seed: u64) -> Vec<Cut> {
    planned(recording, &log.requests, count, seed)
}

fn planned(recording: &Recording, requests: &[Request], count: usize, seed: u64) -> Vec<Cut> {
    let mut rng = Rng::with_seed(seed);
    let first = recording.moments.first().map_or(0, |moment| moment.after);
    let flushes: Vec<usize> = (first..requests.len())
        .filter(|at| requests[*at] == Request::Flush)
        .collect();
    let mut places: Vec<usize> = recording
        .moments
        .iter()
        .map(|moment| moment.after)
        .collect();
    rng.shuffle(&mut places);
    while places.len() < count {
        places.push(place(&mut rng, first..requests.len(), &flushes));
    }
    places.truncate(count);
    let mut rng = Rng::with_seed(seed.wrapping_add(FATES));
    let numbered = places.into_iter().enumerate();
    numbered
        .map(|(index, after)| Cut {
            index,
            after,
            fate: [Fate::Kept, Fate::Lost, Fate::Torn, Fate::Torn][rng.usize(..4)],
            seed: rng.u64(..),
            goes_on: index % GOES_ON == 0,
        })
        .collect()
}

/// Just before a flush or just behind it, where order matters; or anywhere.
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
    use crate::soak::recording::Moment;
    use serde_json::Value;

    fn recording() -> Recording {
        let moment = |after: usize| Moment {
            after,
            phase: "Accepted".to_owned(),
            node: Value::Null,
        };
        Recording {
            old: String::new(),
            new: String::new(),
            moments: [3, 40, 70].map(moment).into(),
        }
    }

    #[test]
    fn a_longer_plan_begins_with_the_shorter_one_and_has_a_cut_in_each_moment() {
        let requests: Vec<_> = (0..100).map(|_| Request::Flush).collect();
        let of = |count| planned(&recording(), &requests, count, 7);
        let (short, long) = (of(10), of(50));
        assert_eq!(short, long[..10]);
        for after in [3, 40, 70] {
            assert!(short.iter().any(|cut| cut.after == after), "{after}");
        }
    }
}
