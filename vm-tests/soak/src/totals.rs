//! The results of cuts, added up by way and step.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use upgrade::Phase;

use super::judge::Verdict;
use super::way::Way;

/// The results of some cuts.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// The number of cuts.
    pub cuts: usize,
    /// The new system serves.
    pub upgraded: usize,
    /// The old system serves.
    pub failed: usize,
    /// A promise was broken.
    pub broken: usize,
    /// The longest time from power-on until the node's final state, if no promise was broken.
    pub slowest_seconds: f64,
}

/// The row for all cuts together.
pub const ALL: &str = "all";

/// The rows: all cuts, then each way, then each of its steps in order.
#[must_use]
pub fn rows(verdicts: &[Verdict]) -> Vec<(String, Totals)> {
    let mut rows: BTreeMap<Place, Totals> = BTreeMap::new();
    for verdict in verdicts {
        let way = Some(verdict.cut.way);
        let phase = verdict.step.split(',').next().unwrap_or_default();
        // Before the first phase there is only the request.
        let nth = Phase::NAMES.iter().position(|name| *name == phase);
        let step = (nth, verdict.step.as_str());
        for place in [(None, None), (way, None), (way, Some(step))] {
            rows.entry(place).or_default().count(verdict);
        }
    }
    rows.into_iter()
        .map(|(place, totals)| (name(place), totals))
        .collect()
}

/// A row's way, and its step with the position of the step's phase.
type Place<'a> = (Option<Way>, Option<(Option<usize>, &'a str)>);

fn name(place: Place<'_>) -> String {
    match place {
        (None, _) => ALL.to_owned(),
        (Some(way), None) => way.name().to_owned(),
        (Some(way), Some((_, ""))) => format!("{way}: asked for"),
        (Some(way), Some((_, step))) => format!("{way}: {step}"),
    }
}

impl Totals {
    fn count(&mut self, verdict: &Verdict) {
        let held = verdict.broken.is_none();
        self.cuts += 1;
        self.upgraded += usize::from(held && verdict.answer == "Upgraded");
        self.failed += usize::from(held && verdict.answer == "Failed");
        self.broken += usize::from(!held);
        if held {
            self.slowest_seconds = self.slowest_seconds.max(verdict.seconds);
        }
    }
}
