//! What a person reads of a run, and the JSON beside it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;

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
        verdict.index,
        verdict.phase,
        format!("{:?}", verdict.fate),
        verdict.seconds
    )
}

/// Written after every cut: a long run may be cut short.
///
/// # Errors
/// When it cannot be written.
pub fn keep(dir: &Path, seed: u64, verdicts: &[Verdict]) -> Result<()> {
    let text = serde_json::to_string_pretty(&json!({"seed": seed, "cuts": verdicts}))?;
    Ok(fs::write(dir.join("report.json"), text)?)
}

/// The table by phase and the closing line; true when nothing was broken.
#[must_use]
pub fn close(verdicts: &[Verdict], took: Duration) -> bool {
    let mut phases: BTreeMap<&str, Vec<&Verdict>> = BTreeMap::new();
    for verdict in verdicts {
        phases.entry(&verdict.phase).or_default().push(verdict);
    }
    println!(
        "\n{:<12}{:>6}{:>10}{:>8}{:>8}{:>12}",
        "cut in", "cuts", "Upgraded", "Failed", "broken", "slowest, s"
    );
    for (phase, cuts) in phases {
        let answered = |answer: &str| cuts.iter().filter(|cut| cut.answer == answer).count();
        let broken = cuts.iter().filter(|cut| cut.broken.is_some()).count();
        let slowest = cuts.iter().map(|cut| cut.seconds).fold(0.0, f64::max);
        println!(
            "{phase:<12}{:>6}{:>10}{:>8}{broken:>8}{slowest:>12.1}",
            cuts.len(),
            answered("Upgraded"),
            answered("Failed")
        );
    }
    let broken = verdicts.iter().filter(|cut| cut.broken.is_some()).count();
    println!("\n{:.0} s in all", took.as_secs_f64());
    println!("{} passed, {broken} failed", verdicts.len() - broken);
    broken == 0
}
