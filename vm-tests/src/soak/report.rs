//! What a person reads of a run, and the JSON beside it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::cut::Cut;
use super::judge::Verdict;

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
    format!(
        "{number:>4} of {all}  cut {:>4}  {:<9} {:<5} {:>6.1} s  {end}",
        verdict.cut.index,
        verdict.phase,
        format!("{:?}", verdict.cut.fate),
        verdict.seconds
    )
}

/// The cuts of one seed that were made so far, and where that is written.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    #[serde(skip)]
    file: PathBuf,
    seed: u64,
    /// Over all cuts and in each phase.
    #[serde(default)]
    totals: BTreeMap<String, Totals>,
    /// Each of them, as they were done.
    pub cuts: Vec<Verdict>,
}

/// What cuts came to.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Totals {
    cuts: usize,
    upgraded: usize,
    failed: usize,
    broken: usize,
    slowest_seconds: f64,
}

/// The row of all phases together.
const ALL: &str = "all";

impl Report {
    /// What an earlier run of this seed has left in this folder; an empty one when there is none.
    #[must_use]
    pub fn read(dir: &Path, seed: u64) -> Self {
        let file = dir.join(format!("report-{seed}.json"));
        let before = fs::read(&file).ok();
        let before = before.and_then(|text| serde_json::from_slice::<Self>(&text).ok());
        let cuts = before.map(|before| before.cuts).unwrap_or_default();
        Self {
            file,
            seed,
            totals: BTreeMap::new(),
            cuts,
        }
    }

    /// Those of the plan that are not made yet.
    #[must_use]
    pub fn left_of<'a>(&self, plan: &'a [Cut]) -> Vec<&'a Cut> {
        let made = |cut: &Cut| self.cuts.iter().any(|verdict| verdict.cut == *cut);
        plan.iter().filter(|cut| !made(cut)).collect()
    }

    /// Adds one and writes all: a long run may be cut short.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, verdict: Verdict) -> Result<()> {
        self.cuts.push(verdict);
        self.totals = totals(&self.cuts);
        let part = self.file.with_extension("new");
        fs::write(&part, serde_json::to_string_pretty(self)?)?;
        Ok(fs::rename(part, &self.file)?)
    }

    /// The table by phase and the closing line; true when nothing was broken.
    #[must_use]
    pub fn close(&self, took: Duration) -> bool {
        println!(
            "\n{:<12}{:>6}{:>10}{:>8}{:>8}{:>12}",
            "cut in", "cuts", "Upgraded", "Failed", "broken", "slowest, s"
        );
        for (phase, row) in totals(&self.cuts) {
            println!(
                "{phase:<12}{:>6}{:>10}{:>8}{:>8}{:>12.1}",
                row.cuts, row.upgraded, row.failed, row.broken, row.slowest_seconds
            );
        }
        let broken: Vec<_> = self
            .cuts
            .iter()
            .filter(|cut| cut.broken.is_some())
            .collect();
        for Verdict { cut, .. } in &broken {
            let (index, seed) = (cut.index, self.seed);
            println!("once more: make soak-power SEED={seed} ONLY={index}");
        }
        println!("\n{:.0} s in this run", took.as_secs_f64());
        println!("the report is {}", self.file.display());
        let passed = self.cuts.len() - broken.len();
        println!("{passed} passed, {} failed", broken.len());
        broken.is_empty()
    }
}

fn totals(verdicts: &[Verdict]) -> BTreeMap<String, Totals> {
    let mut rows: BTreeMap<String, Totals> = BTreeMap::new();
    for verdict in verdicts {
        for row in [verdict.phase.as_str(), ALL] {
            rows.entry(row.to_owned()).or_default().count(verdict);
        }
    }
    rows
}

impl Totals {
    fn count(&mut self, verdict: &Verdict) {
        self.cuts += 1;
        self.upgraded += usize::from(verdict.answer == "Upgraded");
        self.failed += usize::from(verdict.answer == "Failed");
        self.broken += usize::from(verdict.broken.is_some());
        self.slowest_seconds = self.slowest_seconds.max(verdict.seconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soak::cut::Fate;

    fn cut(index: usize) -> Cut {
        Cut {
            index,
            after: 10 * index,
            fate: Fate::Torn,
            seed: 5,
            goes_on: false,
        }
    }

    fn verdict(index: usize, answer: &str, seconds: f64) -> Verdict {
        Verdict {
            cut: cut(index),
            phase: "Trial".to_owned(),
            seconds,
            answer: answer.to_owned(),
            code: None,
            broken: (answer.is_empty()).then(|| "no answer".to_owned()),
        }
    }

    #[test]
    fn a_run_that_was_ended_goes_on_and_another_seed_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let mut report = Report::read(folder.path(), 1);
        report.add(verdict(1, "Upgraded", 40.0)).unwrap();
        let plan = [cut(0), cut(1), cut(2)];
        let again = Report::read(folder.path(), 1);
        assert_eq!(again.left_of(&plan), [&plan[0], &plan[2]]);
        assert_eq!(Report::read(folder.path(), 2).left_of(&plan).len(), 3);
    }

    #[test]
    fn totals_and_the_slowest_stand_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut report = Report::read(folder.path(), 1);
        for (index, answer) in ["Upgraded", "Failed", ""].into_iter().enumerate() {
            report.add(verdict(index, answer, 50.0)).unwrap();
        }
        let text = fs::read(folder.path().join("report-1.json")).unwrap();
        let written: Report = serde_json::from_slice(&text).unwrap();
        let wanted = Totals {
            cuts: 3,
            upgraded: 1,
            failed: 1,
            broken: 1,
            slowest_seconds: 50.0,
        };
        assert_eq!(written.totals[ALL], wanted);
        assert_eq!(written.totals["Trial"], wanted);
    }
}
