//! Durations in human-readable form.

use std::str::FromStr;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

/// The accepted form of a duration.
const ACCEPTED: &str = "numbers with s, m or h, as 90s, 15m or 1h30m";

/// A duration from the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let seconds = typed(text).map_err(|wrong| format!("{wrong}; accepted is {ACCEPTED}"))?;
        Ok(Self(Duration::from_secs(seconds)))
    }
}

/// The seconds of all parts, or which part is wrong.
fn typed(text: &str) -> Result<u64, String> {
    let large = || format!("{text:?} is too long");
    let mut seconds = 0_u64;
    let mut rest = text;
    while !rest.is_empty() {
        let (number, unit, after) = first_part(rest)?;
        let each = seconds_of(unit)?;
        let number: u64 = number.parse().map_err(|_| large())?;
        let part = number.checked_mul(each).ok_or_else(large)?;
        seconds = seconds.checked_add(part).ok_or_else(large)?;
        rest = after;
    }
    match seconds {
        0 if text.is_empty() => Err("the value is empty".to_owned()),
        0 => Err(format!("{text:?} is no time at all")),
        _ => Ok(seconds),
    }
}

/// The number and the unit of the first part, and the text after it.
fn first_part(text: &str) -> Result<(&str, &str, &str), String> {
    let is_digit = |c: char| c.is_ascii_digit();
    let Some(digits) = text.find(|c: char| !is_digit(c)) else {
        return Err(format!("{text:?} has no unit"));
    };
    let (number, after) = text.split_at(digits);
    let end = after.find(is_digit).unwrap_or(after.len());
    let (unit, after) = after.split_at(end);
    if number.is_empty() {
        return Err(format!("{unit:?} has no number before it"));
    }
    Ok((number, unit, after))
}

fn seconds_of(unit: &str) -> Result<u64, String> {
    match unit {
        "s" => Ok(1),
        "m" => Ok(60),
        "h" => Ok(3600),
        _ => Err(format!("{unit:?} is not one of the units s, m and h")),
    }
}

/// As `45s`, `6m10s`, `2h05m` or `3d4h`.
#[must_use]
pub fn short(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m{:02}s", seconds % 60),
        (0, ..) => format!("{hours}h{:02}m", minutes % 60),
        _ => format!("{days}d{}h", hours % 24),
    }
}

/// Seconds from one moment to a later one; zero if the clocks disagree.
#[must_use]
pub fn between(earlier: u64, later: u64) -> u64 {
    later.saturating_sub(earlier)
}

/// Seconds since 1970.
#[must_use]
pub fn seconds(at: Timestamp) -> u64 {
    u64::try_from(at.as_second()).unwrap_or(0)
}

/// A moment as `2026-11-22 07:31:05Z`.
#[must_use]
pub fn moment(at: u64) -> String {
    let known = i64::try_from(at)
        .ok()
        .and_then(|at| Timestamp::from_second(at).ok());
    known.map_or_else(|| "?".to_owned(), |at| at.to_string().replace('T', " "))
}

/// A moment, and how long ago it was.
#[must_use]
pub fn ago(at: u64, now: u64) -> String {
    format!("{} ({} ago)", moment(at), short(between(at, now)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_as_people_write_them() {
        let read = |text: &str| text.parse::<Span>().map(|span| span.0.as_secs());
        assert_eq!(read("90s"), Ok(90));
        assert_eq!(read("1h30m"), Ok(5400));
        for bad in ["", "5", "m", "1d", "0s", "99999999999999999999h", "1µ"] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn refused_length_of_time_names_the_wrong_part() {
        for (text, told) in [
            ("5", "\"5\" has no unit"),
            ("1h30", "\"30\" has no unit"),
            ("1d", "\"d\" is not one of the units s, m and h"),
            ("5 m", "\" m\" is not one of the units"),
            ("10min", "\"min\" is not one of the units"),
            ("m5", "\"m\" has no number before it"),
            ("0s", "\"0s\" is no time at all"),
            ("", "the value is empty"),
            ("99999999999999999999h", "is too long"),
        ] {
            let error = text.parse::<Span>().unwrap_err();
            assert!(error.contains(told), "{error}");
            assert!(error.ends_with(ACCEPTED), "{error}");
        }
    }

    #[test]
    fn lengths_of_time_are_short() {
        let shown = [0, 59, 60, 370, 7500, 273_600].map(short);
        assert_eq!(shown, ["0s", "59s", "1m00s", "6m10s", "2h05m", "3d4h"]);
    }

    #[test]
    fn a_moment_says_its_zone() {
        assert_eq!(moment(1_700_000_000), "2023-11-14 22:13:20Z");
        assert_eq!(moment(u64::MAX), "?");
    }
}
