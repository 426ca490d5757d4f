//! One measured quantity, and the table that a person reads.

use careen_tests::measured::{median, percentile, shown};
use serde::Serialize;

/// What every run gave, beside the least that it could be and the most that it may be.
#[derive(Debug, Serialize)]
pub struct Row {
    /// What is measured, with its unit.
    pub name: &'static str,
    /// One value for each run.
    pub runs: Vec<f64>,
    /// What it cannot go below.
    pub floor: String,
    /// What it must not go above.
    pub target: Option<f64>,
}

/// What an idle process could do without.
pub const NO_FLOOR: &str = "no floor: nothing is what idle costs";

/// Prints the table.
pub fn print(rows: &[Row]) {
    let head = ["median", "least", "most", "target"];
    let [median, least, most, target] = head;
    println!(
        "{:<44}{median:>10}{least:>10}{most:>10}{target:>10}  floor",
        ""
    );
    rows.iter().for_each(line);
}

fn line(row: &Row) {
    let all = [
        median(&row.runs),
        percentile(&row.runs, 0),
        percentile(&row.runs, 100),
    ];
    let [median, least, most] = all.map(shown);
    let target = row
        .target
        .map_or_else(|| "-".to_owned(), |target| target.to_string());
    println!(
        "{:<44}{median:>10}{least:>10}{most:>10}{target:>10}  {}",
        row.name, row.floor
    );
}
