//! Which cuts a run makes: one in each moment of the upgrade, then wherever the seed says, near flushes more often than elsewhere.

use fastrand::Rng;

use super::cut::{Cut, Fate};
use super::recording::Recording;
use super::writes::{Log, Request};

/// Of so many cuts one lets the upgrade go on to its end, which takes the longest.
const GOES_ON: usize = 4;

/// The cuts of one seed.
#[must_use]
pub fn cuts(recording: &Recording, log: &Log, count: usize, seed: u64) -> Vec<Cut> {
    let mut rng = Rng::with_seed(seed);
    let first = recording.moments.first().map_or(0, |moment| moment.after);
    let flushes: Vec<usize> = (first..log.requests.len())
        .filter(|at| log.requests[*at] == Request::Flush)
        .collect();
    let mut places: Vec<usize> = recording
        .moments
        .iter()
        .map(|moment| moment.after)
        .collect();
    rng.shuffle(&mut places);
    while places.len() < count {
        places.push(place(&mut rng, first..log.requests.len(), &flushes));
    }
    places.truncate(count);
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
