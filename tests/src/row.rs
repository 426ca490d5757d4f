//! One measured quantity, and the table for a person.

use serde::Serialize;

use crate::measured::{median, percentile, shown};

/// The value of every run, with the lowest possible and the highest permitted value.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The quantity, with its unit.
    pub name: &'static str,
    /// One value for each run.
    pub runs: Vec<f64>,
    /// The lowest possible value.
    pub floor: String,
    /// The highest permitted value.
    pub target: Option<f64>,
}

/// The floor of an idle process, which ideally costs nothing.
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
