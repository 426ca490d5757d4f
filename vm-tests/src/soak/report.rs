//! What a person reads of a run, and the JSON beside it.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use upgrade::Phase;

use super::cut::Cut;
use super::judge::Verdict;
use super::missed::Expected;
use super::way::Way;

/// One cut, as it is done.
#[must_use]
pub fn line(verdict: &Verdict, number: usize, all: usize) -> String {
    let end = match &verdict.broken {
        Some(broken) => format!("BROKEN: {broken}"),
        None => match &verdict.code {
            Some(code) => format!("{}, {code}", verdict.answer),
            None => verdict.answer.clone(),
        },
    };
    let Verdict { cut, step, .. } = verdict;
    format!(
        "{number:>4} of {all}  cut {:>4}  {:<8}  {step:<20} {:<5} {:>6.1} s  {end}",
        cut.index,
        cut.way,
        format!("{:?}", cut.fate),
        verdict.seconds
    )
}

/// The cuts of one seed that were made so far, and where that is written.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    #[serde(skip)]
    file: PathBuf,
    /// Whose cuts they are.
    pub seed: u64,
    /// What is to be cut at least.
    #[serde(default)]
    pub expected: Expected,
    /// What of that no cut was made in.
    #[serde(default)]
    missed: Vec<String>,
    /// Over all cuts, of each way and at each step.
    #[serde(default)]
    totals: BTreeMap<String, Totals>,
    /// Each of them, as they were done.
    pub cuts: Vec<Verdict>,
}

/// What cuts came to.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// How many.
    pub cuts: usize,
    /// The new system serves.
    pub upgraded: usize,
    /// The old one does.
    pub failed: usize,
    /// A promise was broken.
    pub broken: usize,
    /// The longest time from power-on until the node was at rest, where no promise was broken.
    pub slowest_seconds: f64,
}

/// The row of all cuts together.
const ALL: &str = "all";

impl Report {
    /// What an earlier run of this seed has left in this folder; an empty one when there is none.
    ///
    /// # Errors
    /// When there is one that cannot be read: a night's work is not written over.
    pub fn read(dir: &Path, seed: u64) -> Result<Self> {
        let file = dir.join(format!("report-{seed}.json"));
        let cuts = match fs::read(&file) {
            Ok(text) => Self::parse(&text).with_context(|| file.display().to_string())?,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error).with_context(|| file.display().to_string()),
        };
        Ok(Self {
            file,
            seed,
            expected: Expected::default(),
            missed: Vec::new(),
            totals: BTreeMap::new(),
            cuts,
        })
    }

    fn parse(text: &[u8]) -> Result<Vec<Verdict>> {
        Ok(serde_json::from_slice::<Self>(text)?.cuts)
    }

    /// Those of the plan that are not made yet.
    #[must_use]
    pub fn left_of<'a>(&self, plan: &'a [Cut]) -> Vec<&'a Cut> {
        let made = |cut: &Cut| self.cuts.iter().any(|verdict| verdict.cut == *cut);
        plan.iter().filter(|cut| !made(cut)).collect()
    }

    /// Those that broke a promise.
    pub fn broken(&self) -> impl Iterator<Item = &Verdict> {
        self.cuts.iter().filter(|cut| cut.broken.is_some())
    }

    /// Adds one and writes all: a long run may be cut short.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, verdict: Verdict) -> Result<()> {
        self.cuts.push(verdict);
        self.totals = rows(&self.cuts).into_iter().collect();
        self.missed = self.expected.missed_by(&self.cuts);
        let part = self.file.with_extension("new");
        fs::write(&part, serde_json::to_string_pretty(self)?)?;
        Ok(fs::rename(part, &self.file)?)
    }

    /// The table by step and the closing line; true when nothing was broken.
    #[must_use]
    pub fn close(&self, took: Duration) -> bool {
        println!(
            "\n{:<34}{:>6}{:>10}{:>8}{:>8}{:>12}",
            "cut in", "cuts", "Upgraded", "Failed", "broken", "slowest, s"
        );
        for (name, row) in rows(&self.cuts) {
            println!(
                "{name:<34}{:>6}{:>10}{:>8}{:>8}{:>12.1}",
                row.cuts, row.upgraded, row.failed, row.broken, row.slowest_seconds
            );
        }
        for line in self.expected.missed_by(&self.cuts) {
            println!("{line}");
        }
        for Verdict { cut, .. } in self.broken() {
            let (index, seed) = (cut.index, self.seed);
            println!("once more: make soak-power SEED={seed} ONLY={index}");
        }
        let broken = self.broken().count();
        println!("\n{:.0} s in this run", took.as_secs_f64());
        println!("the report is {}", self.file.display());
        println!("{} passed, {broken} failed", self.cuts.len() - broken);
        broken == 0
    }
}

/// What they came to: all, then each way, then each of its steps in their order.
#[must_use]
pub fn rows(verdicts: &[Verdict]) -> Vec<(String, Totals)> {
    let mut rows: BTreeMap<Place, Totals> = BTreeMap::new();
    for verdict in verdicts {
        let way = Some(verdict.cut.way);
        let phase = verdict.step.split(',').next().unwrap_or_default();
        // Before the first there is the request alone.
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

/// Of a row: its way, and its step with the place of that step's phase among all.
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::soak::cut::Fate;

    fn cut(index: usize) -> Cut {
        Cut {
            plan: 1,
            index,
            way: Way::Upgrade,
            after: 10 * index,
            fate: Fate::Torn,
            seed: 5,
            goes_on: false,
        }
    }

    /// Of a cut in the trial; without an answer a promise was broken.
    pub fn verdict(index: usize, answer: &str, seconds: f64) -> Verdict {
        Verdict {
            cut: cut(index),
            step: "Trial, Pass".to_owned(),
            seconds,
            answer: answer.to_owned(),
            code: None,
            broken: (answer.is_empty()).then(|| "no answer".to_owned()),
        }
    }

    #[test]
    fn a_run_that_was_ended_goes_on_and_another_seed_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let mut report = Report::read(folder.path(), 1).unwrap();
        report.add(verdict(1, "Upgraded", 40.0)).unwrap();
        let plan = [cut(0), cut(1), cut(2)];
        let again = Report::read(folder.path(), 1).unwrap();
        assert_eq!(again.left_of(&plan), [&plan[0], &plan[2]]);
        let other = Report::read(folder.path(), 2).unwrap();
        assert_eq!(other.left_of(&plan).len(), 3);
    }

    #[test]
    fn a_report_that_cannot_be_read_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("report-1.json"), "{\"seed\": 1,").unwrap();
        assert!(Report::read(folder.path(), 1).is_err());
    }

    #[test]
    fn totals_and_the_slowest_stand_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut report = Report::read(folder.path(), 1).unwrap();
        for (index, answer) in ["Upgraded", "Failed", ""].into_iter().enumerate() {
            let seconds = if answer.is_empty() { 1800.0 } else { 50.0 };
            report.add(verdict(index, answer, seconds)).unwrap();
        }
        let text = fs::read(folder.path().join("report-1.json")).unwrap();
        let written: Report = serde_json::from_slice(&text).unwrap();
        let wanted = Totals {
            cuts: 3,
            upgraded: 1,
            failed: 1,
            broken: 1,
            // One that never came to its rest was not slow.
            slowest_seconds: 50.0,
        };
        for row in [ALL, "upgrade", "upgrade: Trial, Pass"] {
            assert_eq!(written.totals[row], wanted, "{row}");
        }
    }

    #[test]
    fn steps_stand_in_the_order_in_which_they_are_taken() {
        let at = |step: &str| Verdict {
            step: step.to_owned(),
            ..verdict(0, "Upgraded", 1.0)
        };
        let verdicts = ["Trial", "Armed, Reboot", "Accepted, Fetch", "", "Accepted"].map(at);
        let names: Vec<_> = rows(&verdicts).into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            [
                "all",
                "upgrade",
                "upgrade: asked for",
                "upgrade: Accepted",
                "upgrade: Accepted, Fetch",
                "upgrade: Armed, Reboot",
                "upgrade: Trial"
            ]
        );
    }
}
