//! A run's report for people, and as JSON.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::cut::Cut;
use super::judge::Verdict;
use super::missed::Expected;
use super::totals::{Totals, rows};

/// One finished cut.
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

/// The cuts of one seed so far, and their file.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    #[serde(skip)]
    file: PathBuf,
    /// The seed of the cuts.
    pub seed: u64,
    /// The steps that must be cut at least once.
    #[serde(default)]
    pub expected: Expected,
    /// The steps among them without a cut.
    #[serde(default)]
    missed: Vec<String>,
    /// The totals of all cuts, of each way and of each step.
    #[serde(default)]
    totals: BTreeMap<String, Totals>,
    /// The cuts, in the order in which they were made.
    pub cuts: Vec<Verdict>,
}

impl Report {
    /// The report of an earlier run with this seed in this folder, or an empty one.
    ///
    /// # Errors
    ///
    /// Fails when there is one that cannot be read. The run does not overwrite a night's work.
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

    /// The cuts of the plan that are not made yet.
    #[must_use]
    pub fn left_of<'a>(&self, plan: &'a [Cut]) -> Vec<&'a Cut> {
        let made = |cut: &Cut| self.cuts.iter().any(|verdict| verdict.cut == *cut);
        plan.iter().filter(|cut| !made(cut)).collect()
    }

    /// The cuts that broke a promise.
    pub fn broken(&self) -> impl Iterator<Item = &Verdict> {
        self.cuts.iter().filter(|cut| cut.broken.is_some())
    }

    /// Adds a verdict and writes the report, because a long run may be interrupted.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be written.
    pub fn add(&mut self, verdict: Verdict) -> Result<()> {
        self.cuts.push(verdict);
        self.totals = rows(&self.cuts).into_iter().collect();
        self.missed = self.expected.missed_by(&self.cuts);
        let part = self.file.with_extension("new");
        fs::write(&part, serde_json::to_string_pretty(self)?)?;
        Ok(fs::rename(part, &self.file)?)
    }

    /// Prints the table by step and the closing line. Returns true when nothing was broken.
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::totals::ALL;
    use crate::way::Way;
    use rig::fate::Fate;

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

    /// The verdict of a cut in the trial. Without an answer a promise was broken.
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
    fn ended_run_continues_and_another_seed_starts_over() {
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
            // A node that never reached its final state does not count as slow.
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
