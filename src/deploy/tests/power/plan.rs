//! Which cuts a run makes: right after every step, around every flush, then wherever the seed says.

use fastrand::Rng;

use crate::cut::{Cut, Fate};
use crate::disk::Op;
use crate::recording::Recording;

/// Around a flush: just after it and all else lost; just before it with one disk faster than the
/// other, or both in disorder.
const AROUND: [(usize, [Fate; 2]); 4] = [
    (1, [Fate::Lost, Fate::Lost]),
    (0, [Fate::Kept, Fate::Lost]),
    (0, [Fate::Lost, Fate::Kept]),
    (0, [Fate::Torn, Fate::Torn]),
];

/// The cuts of one seed. What a step said is done must be so if all that was not flushed is lost:
/// no run leaves that out. A small number is those, and a choice of those around the flushes.
pub fn cuts(recording: &Recording, count: usize, seed: u64) -> Vec<Cut> {
    let (log, mut rng) = (&recording.log, Rng::with_seed(seed));
    let ends = recording.told.iter().map(|told| told.end);
    let mut places: Vec<_> = ends.map(|end| (end, [Fate::Lost, Fate::Lost])).collect();
    let flushes = (0..log.len()).filter(|at| matches!(log[*at], Op::Flush { .. }));
    let mut around: Vec<_> = flushes
        .flat_map(|at| AROUND.map(|(more, fates)| (at + more, fates)))
        .collect();
    let room = count.saturating_sub(places.len());
    if room < around.len() {
        rng.shuffle(&mut around);
        around.truncate(room);
    }
    places.extend(around);
    while places.len() < count {
        let fate = |rng: &mut Rng| [Fate::Lost, Fate::Kept, Fate::Torn, Fate::Torn][rng.usize(..4)];
        places.push((rng.usize(..log.len()), [fate(&mut rng), fate(&mut rng)]));
    }
    let numbered = places.into_iter().enumerate();
    numbered
        .map(|(index, (at, fates))| Cut {
            index,
            at,
            fates,
            seed: rng.u64(..),
        })
        .collect()
}
