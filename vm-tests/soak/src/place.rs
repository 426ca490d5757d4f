//! The state at a cut: what the disk may have kept of the upgrade, and what its Node said.

use anyhow::{Context, Result};
use rig::writes::Log;

use super::cut::Cut;
use super::marks::Mark;
use super::recording::{Moment, Recording};
use super::way::Way;

/// A recording with all findings in its log.
#[derive(Debug)]
pub struct Recorded {
    /// The way that it records.
    pub way: Way,
    /// The Node's states meanwhile.
    pub recording: Recording,
    /// Each write of the record.
    pub marks: Vec<Mark>,
    /// All writes and flushes.
    pub log: Log,
}

impl Recorded {
    /// The number of requests when the upgrade was requested.
    #[must_use]
    pub fn begin(&self) -> usize {
        let first = self.recording.moments.first();
        let begin = first.map_or(0, |moment| moment.after);
        begin.min(self.log.requests.len())
    }

    /// Its steps: each write of the record since the request. Steps of the previous upgrade come
    /// before.
    pub fn steps(&self) -> impl Iterator<Item = &Mark> {
        let begin = self.begin();
        self.marks.iter().filter(move |mark| mark.after >= begin)
    }

    /// The last record that the cut cannot have lost. Everything written before it is on the disk
    /// as well.
    #[must_use]
    pub fn surely(&self, cut: &Cut) -> Option<&Mark> {
        let safe = cut.safe(&self.log);
        self.steps().filter(|mark| mark.after <= safe).last()
    }

    /// The state at a cut after this many requests.
    ///
    /// # Errors
    ///
    /// Fails when the cut is before the upgrade's request.
    pub fn place(&self, after: usize) -> Result<Place<'_>> {
        let moments = &self.recording.moments;
        let later = moments.partition_point(|moment| moment.after <= after);
        let told = later.checked_sub(1).and_then(|at| moments.get(at));
        Ok(Place {
            told: told.context("this cut comes before the request")?,
            next: moments.get(later),
            mark: self.marks.iter().rfind(|mark| mark.after <= after),
        })
    }
}

/// The state at the power cut.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The Node's last state.
    pub told: &'a Moment,
    /// The Node's next state. The agent reports only what is done, and skips what follows
    /// immediately.
    pub next: Option<&'a Moment>,
    /// The last record, if the disk has kept it.
    pub mark: Option<&'a Mark>,
}

impl Place<'_> {
    /// The phases in which the upgrade may be, by the content of the disk.
    pub fn phases(&self) -> impl Iterator<Item = &str> {
        let told = [Some(self.told), self.next].into_iter().flatten();
        let told = told.map(|moment| moment.phase.as_str());
        told.chain(self.mark.map(|mark| mark.phase.as_str()))
    }

    /// The step for the report.
    #[must_use]
    pub fn step(&self) -> String {
        self.mark
            .map_or_else(|| self.told.phase.clone(), Mark::name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn recorded() -> Recorded {
        let moment = |(after, phase): (usize, &str)| Moment {
            after,
            phase: phase.to_owned(),
            node: Value::Null,
        };
        Recorded {
            way: Way::Upgrade,
            recording: Recording {
                moments: [(3, ""), (40, "Deployed"), (70, "Armed")]
                    .map(moment)
                    .into(),
                ..Recording::default()
            },
            marks: vec![Mark {
                after: 50,
                phase: "Drained".to_owned(),
                step: Some("Arm".to_owned()),
            }],
            log: Log::of(Vec::new()).unwrap(),
        }
    }

    #[test]
    fn place_spans_the_last_phase_told_and_the_next_one() {
        let recorded = recorded();
        let phases = |after| {
            let place = recorded.place(after).unwrap();
            place.phases().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(phases(3), ["", "Deployed"]);
        assert_eq!(phases(49), ["Deployed", "Armed"]);
        assert_eq!(phases(50), ["Deployed", "Armed", "Drained"]);
        assert_eq!(phases(99), ["Armed", "Drained"]);
        assert!(recorded.place(2).is_err(), "before the request");
    }

    #[test]
    fn the_step_is_the_records_where_there_is_one() {
        let recorded = recorded();
        let step = |after| recorded.place(after).unwrap().step();
        assert_eq!(step(45), "Deployed");
        assert_eq!(step(60), "Drained, Arm");
    }
}
