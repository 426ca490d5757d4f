//! The steps in which no cut was made. A table of the cuts that were made does not show them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::judge::Verdict;
use super::place::Recorded;
use super::totals::rows;

/// The steps to cut, by the names of the report's rows.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// Each step of the recorded upgrades.
    #[serde(default)]
    steps: BTreeSet<String>,
    /// Expected phases whose record was never written, so no cut was possible in them.
    #[serde(default)]
    unreached: BTreeSet<String>,
}

impl Expected {
    /// What these recordings offer.
    #[must_use]
    pub fn of(recorded: &[Recorded]) -> Self {
        let mut expected = Self::default();
        for one in recorded {
            let way = one.way;
            let steps = one.steps().map(|mark| format!("{way}: {}", mark.name()));
            expected.steps.extend(steps);
            let is_reached = |phase: &&&str| one.steps().any(|mark| mark.phase == **phase);
            let phases = way.phases().iter().filter(|phase| !is_reached(phase));
            let unreached = phases.map(|phase| format!("{way}: {phase}"));
            expected.unreached.extend(unreached);
        }
        expected
    }

    /// The union of what two runs expect.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.steps.extend(other.steps.iter().cloned());
        self.unreached.extend(other.unreached.iter().cloned());
        self
    }

    /// The steps in which none of these cuts was made, one line each; empty if nothing was missed.
    #[must_use]
    pub fn missed_by(&self, cuts: &[Verdict]) -> Vec<String> {
        let made: BTreeSet<String> = rows(cuts).into_iter().map(|(name, _)| name).collect();
        let uncut: Vec<_> = self.steps.difference(&made).map(String::as_str).collect();
        let unreached: Vec<_> = self.unreached.iter().map(String::as_str).collect();
        let lines = [
            ("Not cut yet", uncut),
            ("Never reached, so never cut", unreached),
        ];
        let lines = lines.into_iter().filter(|(_, names)| !names.is_empty());
        lines
            .map(|(what, names)| format!("{what}: {}.", names.join("; ")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::Mark;
    use crate::recording::{Moment, Recording};
    use crate::report::tests::verdict;
    use crate::way::Way;
    use rig::writes::{Log, Request};
    use serde_json::Value;

    fn recorded(steps: &[(usize, &str, Option<&str>)]) -> Recorded {
        let mark = |(after, phase, step): &(usize, &str, Option<&str>)| Mark {
            after: *after,
            phase: (*phase).to_owned(),
            step: step.map(str::to_owned),
        };
        let asked = Moment {
            after: 3,
            phase: String::new(),
            node: Value::Null,
        };
        Recorded {
            way: Way::Upgrade,
            recording: Recording {
                moments: vec![asked],
                ..Recording::default()
            },
            marks: steps.iter().map(mark).collect(),
            log: Log::of((0..100).map(|_| Request::Flush).collect()).unwrap(),
        }
    }

    #[test]
    fn missed_by_names_uncut_steps_and_unreached_phases() {
        let phases = Way::Upgrade.phases().iter();
        let mut steps: Vec<_> = phases.map(|phase| (10, *phase, None)).collect();
        steps.retain(|(_, phase, _)| *phase != "Blessed");
        steps.push((20, "Trial", Some("Pass")));
        // A step of the previous upgrade.
        steps.push((1, "Failed", Some("Clean")));
        let expected = Expected::of(&[recorded(&steps)]);
        let cut = |step: &str| Verdict {
            step: step.to_owned(),
            ..verdict(0, "Upgraded", 1.0)
        };
        let mut cuts: Vec<_> = Way::Upgrade
            .phases()
            .iter()
            .map(|phase| cut(phase))
            .collect();
        let never = "Never reached, so never cut: upgrade: Blessed.";
        assert_eq!(
            expected.missed_by(&cuts),
            ["Not cut yet: upgrade: Trial, Pass.", never]
        );
        cuts.push(cut("Trial, Pass"));
        assert_eq!(expected.missed_by(&cuts), [never]);
    }
}
