//! The combined results of all runs, written into the docs from their reports.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use testkit::programs;

use super::judge::Verdict;
use super::missed::Expected;
use super::report::Report;
use super::totals::rows;

/// The page, and the marker before the part that is written here.
const PAGE: &str = "../docs/reliability.md";
const BEGIN: &str = "<!-- soak-power: from the runs' own reports, by `make soak-report` -->\n";
const END: &str = "<!-- soak-power ends -->\n";

/// Adds up the reports of all runs in `folder` and writes the result into the docs. Returns true
/// when no promise was broken.
///
/// # Errors
///
/// Fails when a report cannot be read or the page cannot be written.
pub fn write(folder: &Path) -> Result<bool> {
    let reports = reports(folder)?;
    let path = programs::home().join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let part = part(&reports);
    print!("{part}");
    let page = with_part(&page, &part).with_context(|| path.display().to_string())?;
    fs::write(&path, page)?;
    Ok(reports.iter().all(|report| report.broken().count() == 0))
}

/// The reports of all builds, in the order of their files.
fn reports(folder: &Path) -> Result<Vec<Report>> {
    let builds: BTreeSet<_> = entries(folder)?.into_iter().collect();
    let mut reports = Vec::new();
    for build in builds {
        reports.extend(of_build(&build)?);
    }
    Ok(reports)
}

/// The reports of one build, with all seeds.
///
/// # Errors
///
/// Fails when one cannot be read.
pub fn of_build(folder: &Path) -> Result<Vec<Report>> {
    let mut files = entries(folder)?;
    files.retain(|path| is_report(path));
    files.sort();
    files.iter().map(|path| read(path)).collect()
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

fn is_report(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("report-") && name.ends_with(".json")
}

fn read(path: &Path) -> Result<Report> {
    let text = fs::read(path)?;
    serde_json::from_slice(&text).with_context(|| path.display().to_string())
}

fn with_part(page: &str, part: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{part}\n{END}{after}"))
}

fn part(reports: &[Report]) -> String {
    let verdicts: Vec<Verdict> = reports
        .iter()
        .flat_map(|report| report.cuts.iter().cloned())
        .collect();
    if verdicts.is_empty() {
        return "Not run yet.\n".to_owned();
    }
    let broken = verdicts.iter().filter(|cut| cut.broken.is_some()).count();
    let seeds: BTreeSet<_> = reports.iter().map(|report| report.seed).collect();
    let seeds: Vec<_> = seeds.iter().map(ToString::to_string).collect();
    let mut part = format!(
        "Made so far: {} cuts, each with a boot after it (seeds: {}); {broken} broke a promise.\n\n\
         | cut in | cuts | `Upgraded` | `Failed` | broken | slowest, s |\n|---|---|---|---|---|---|\n",
        verdicts.len(),
        seeds.join(", ")
    );
    for (name, row) in rows(&verdicts) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            part,
            "| {name} | {} | {} | {} | {} | {:.0} |",
            row.cuts, row.upgraded, row.failed, row.broken, row.slowest_seconds
        );
    }
    let expected = reports.iter().map(|report| &report.expected);
    let expected = expected.fold(Expected::default(), Expected::and);
    for line in expected.missed_by(&verdicts) {
        let _ = writeln!(part, "\n{line}");
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::verdict;

    #[test]
    fn runs_of_two_builds_and_seeds_are_added_up() -> Result<()> {
        let all = tempfile::tempdir()?;
        for (build, seed) in [("a", 1), ("a", 2), ("b", 1)] {
            let folder = all.path().join(build);
            fs::create_dir_all(folder.join("cut-3"))?;
            let mut report = Report::read(&folder, seed)?;
            report.add(verdict(0, "Upgraded", 61.4))?;
            report.add(verdict(1, "Failed", 40.0))?;
        }
        let part = part(&reports(all.path())?);
        assert!(part.contains("6 cuts"), "{part}");
        assert!(part.contains("seeds: 1, 2"), "{part}");
        assert!(part.contains("0 broke a promise"), "{part}");
        assert!(part.contains("| all | 6 | 3 | 3 | 0 | 61 |"), "{part}");
        Ok(())
    }

    #[test]
    fn where_nothing_ran_the_page_says_so() -> Result<()> {
        let nothing = tempfile::tempdir()?;
        let none = reports(&nothing.path().join("soak"))?;
        assert_eq!(part(&none), "Not run yet.\n");
        Ok(())
    }

    #[test]
    fn the_page_has_a_place_for_it_and_all_around_stays() -> Result<()> {
        let page = fs::read_to_string(programs::home().join(PAGE))?;
        let written = with_part(&page, "two lines\nof it\n").context("no place in the docs")?;
        let (before, rest) = written.split_once(BEGIN).unwrap_or_default();
        assert!(page.starts_with(before) && before.len() > 1000);
        assert!(rest.contains("two lines\nof it\n"));
        assert_eq!(with_part(&written, "x\n"), with_part(&page, "x\n"));
        Ok(())
    }
}
