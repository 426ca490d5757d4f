//! Measurements for the benchmarks: medians and percentiles, and the resources that a process uses
//! according to the kernel.

use std::time::Instant;

use anyhow::{Context, Result};

/// The median of any number of values.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    percentile(values, 50)
}

/// The value that this percentage of the values does not exceed.
#[must_use]
pub fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or(0.0)
}

/// Milliseconds from `since` to now.
#[must_use]
pub fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

/// Formats a value with only its significant digits.
#[must_use]
pub fn shown(value: f64) -> String {
    match value {
        small if small < 1.0 => format!("{small:.3}"),
        middling if middling < 100.0 => format!("{middling:.1}"),
        large => format!("{large:.0}"),
    }
}

/// Memory of a process in KiB, by the name of a field in its `smaps_rollup`, with the colon.
///
/// # Errors
/// When the process is gone, or the kernel does not have the field.
pub fn kib(pid: u32, field: &str) -> Result<f64> {
    field_of(pid, "smaps_rollup", field)
}

/// The maximum resident memory of a process, in KiB.
///
/// # Errors
/// When the process is gone.
pub fn peak_kib(pid: u32) -> Result<f64> {
    field_of(pid, "status", "VmHWM:")
}

fn field_of(pid: u32, file: &str, field: &str) -> Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}"))?;
    let line = text
        .lines()
        .find(|line| line.starts_with(field))
        .context("no such field")?;
    let value = line.split_whitespace().nth(1).context("no value")?;
    Ok(value.parse()?)
}

/// CPU time so far, of all threads. The scheduler counts nanoseconds; clock ticks would hide the
/// cost of an idle program.
///
/// # Errors
/// When the process is gone.
pub fn cpu_milliseconds(pid: u32) -> Result<f64> {
    let mut nanoseconds = 0.0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
        let own: f64 = text.split_whitespace().next().context("empty")?.parse()?;
        nanoseconds += own;
    }
    Ok(nanoseconds / 1e6)
}
