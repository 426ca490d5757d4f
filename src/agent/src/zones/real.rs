//! Hours in the zones of Debian's own database, in the nights in which their clocks are changed and
//! in others.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use upgrade::window::{Door, LastBegin, Window};

use super::*;

/// The folder of the database. Where there is none the test fails.
fn database() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tzdata.sh");
    let output = Command::new(&script).stderr(Stdio::inherit()).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", script.display()));
    assert!(output.status.success(), "{}", script.display());
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

fn window(zone: &str, hours: &str) -> Window {
    let zone = zone.parse().unwrap();
    Window {
        open: vec![hours.parse().unwrap()],
        rules: rules(&database(), &zone).unwrap(),
        zone,
        ..Window::default()
    }
}

/// A moment in UTC, as `2026-03-29T01:00`.
fn utc(text: &str) -> u64 {
    let moment: Timestamp = format!("{text}:00Z").parse().unwrap();
    moment.as_second().try_into().unwrap()
}

/// That these hours are open from here to there, both in UTC, and neither a second before nor
/// after.
fn is_open(zone: &str, hours: &str, from: &str, to: &str) {
    let window = window(zone, hours);
    let (opens, end) = (utc(from), utc(to));
    let open = Door::Open { until: Some(end) };
    let case = format!("{zone} {hours} {from}");
    let closed = Door::Closed { opens: Some(opens) };
    assert_eq!(window.at(opens - 1), closed, "{case}");
    assert_eq!(window.at(opens), open, "{case}");
    assert_eq!(window.at(end - 1), open, "{case}");
    let after = window.at(end);
    let later = matches!(after, Door::Closed { opens } if opens > Some(end));
    assert!(later, "{case}: {after:?}");
}

#[test]
fn a_night_in_which_the_clock_is_put_forward_is_shorter() {
    for (zone, hours, from, to) in [
        (
            "Europe/Berlin",
            "Sat 22:00-06:00",
            "2026-03-28T21:00",
            "2026-03-29T04:00",
        ),
        (
            "America/New_York",
            "Sat 22:00-06:00",
            "2026-03-08T03:00",
            "2026-03-08T10:00",
        ),
        (
            "America/St_Johns",
            "Sat 22:00-06:00",
            "2026-03-08T01:30",
            "2026-03-08T08:30",
        ),
        // By half an hour.
        (
            "Australia/Lord_Howe",
            "Sat 22:00-06:00",
            "2026-10-03T11:30",
            "2026-10-03T19:00",
        ),
        // Behind the month of Ramadan.
        (
            "Africa/Casablanca",
            "Sun 01:00-05:00",
            "2026-03-22T01:00",
            "2026-03-22T04:00",
        ),
        // At midnight.
        (
            "Africa/Cairo",
            "Thu 22:00-02:00",
            "2026-04-23T20:00",
            "2026-04-23T23:00",
        ),
    ] {
        is_open(zone, hours, from, to);
    }
}

#[test]
fn a_night_in_which_the_clock_is_put_back_is_longer() {
    for (zone, hours, from, to) in [
        (
            "Europe/Berlin",
            "Sat 22:00-06:00",
            "2026-10-24T20:00",
            "2026-10-25T05:00",
        ),
        // Its winter is what is written as the other time.
        (
            "Europe/Dublin",
            "Sat 22:00-06:00",
            "2026-10-24T21:00",
            "2026-10-25T06:00",
        ),
        (
            "America/New_York",
            "Sat 22:00-06:00",
            "2026-11-01T02:00",
            "2026-11-01T11:00",
        ),
        (
            "Australia/Lord_Howe",
            "Sat 22:00-06:00",
            "2026-04-04T11:00",
            "2026-04-04T19:30",
        ),
        (
            "Pacific/Chatham",
            "Sat 22:00-06:00",
            "2026-04-04T08:15",
            "2026-04-04T17:15",
        ),
        (
            "Africa/Casablanca",
            "Sun 01:00-05:00",
            "2026-02-15T00:00",
            "2026-02-15T05:00",
        ),
        // From midnight to eleven.
        (
            "America/Santiago",
            "Sat 22:30-01:00",
            "2026-04-05T01:30",
            "2026-04-05T05:00",
        ),
    ] {
        is_open(zone, hours, from, to);
    }
}

#[test]
fn skipped_hours_still_open_and_repeated_hours_open_once() {
    for (zone, hours, from, to) in [
        (
            "Europe/Berlin",
            "Sun 02:00-03:00",
            "2026-03-29T01:00",
            "2026-03-29T02:00",
        ),
        (
            "America/Santiago",
            "Sun 00:00-02:00",
            "2026-09-06T04:00",
            "2026-09-06T05:00",
        ),
        (
            "Europe/Berlin",
            "Sun 02:15-02:45",
            "2026-10-25T00:15",
            "2026-10-25T00:45",
        ),
        // Two o'clock is not shown before the clock is put back to half past one.
        (
            "Australia/Lord_Howe",
            "Sun 01:30-02:00",
            "2026-04-04T14:30",
            "2026-04-04T15:30",
        ),
        // A Friday that this island did not have.
        (
            "Pacific/Apia",
            "Fri 02:00-04:00",
            "2011-12-30T12:00",
            "2011-12-30T14:00",
        ),
    ] {
        is_open(zone, hours, from, to);
    }
}

#[test]
fn zones_whose_clocks_stay_have_the_same_hours_all_year() {
    for (zone, hours, from, to) in [
        (
            "UTC",
            "Sat 22:00-06:00",
            "2026-03-28T22:00",
            "2026-03-29T06:00",
        ),
        (
            "Asia/Kolkata",
            "Sat 23:30-00:30",
            "2026-03-28T18:00",
            "2026-03-28T19:00",
        ),
        (
            "Asia/Kathmandu",
            "Mon 00:00-24:00",
            "2026-03-29T18:15",
            "2026-03-30T18:15",
        ),
        // These two had a summer time once.
        (
            "America/Sao_Paulo",
            "Sat 22:00-06:00",
            "2026-11-01T01:00",
            "2026-11-01T09:00",
        ),
        (
            "Pacific/Apia",
            "Sat 23:00-01:00",
            "2026-01-03T10:00",
            "2026-01-03T12:00",
        ),
        // Where it is Monday first.
        (
            "Pacific/Kiritimati",
            "Mon 00:00-01:00",
            "2026-03-29T10:00",
            "2026-03-29T11:00",
        ),
    ] {
        is_open(zone, hours, from, to);
    }
}

#[test]
fn night_shortened_by_a_clock_change_is_skipped_if_too_short() {
    let night = Window {
        last_begin: LastBegin::Minutes(400),
        ..window("Europe/Berlin", "Sat 23:00-06:00")
    };
    let opens = |wall: &str| {
        let shut = night.shut(utc(wall), night.last_begin_minutes());
        shut.map(|shut| shut.opens.unwrap())
    };
    assert_eq!(opens("2026-03-21T22:00"), None, "seven hours");
    let week_after = Some(utc("2026-04-04T21:00"));
    assert_eq!(
        opens("2026-03-28T22:00"),
        week_after,
        "six, and summer then"
    );
}
