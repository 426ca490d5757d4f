//! One measured quantity, and the table that a person reads.

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

/// The median of some values, however many.
pub fn median(values: &[f64]) -> f64 {
    percentile(values, 50)
}

/// The value that so many percent do not exceed.
pub fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or(0.0)
}

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

/// No more digits than mean anything.
fn shown(value: f64) -> String {
    match value {
        small if small < 1.0 => format!("{small:.3}"),
        middling if middling < 100.0 => format!("{middling:.1}"),
        large => format!("{large:.0}"),
    }
}
