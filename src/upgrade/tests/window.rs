//! The operator's hours: across midnight, the week's end, and the nights in which clocks are
//! changed.
#![allow(clippy::unwrap_used)]

use upgrade::window::{Door, Hours, Window};
use upgrade::zone::{Offset, Rules, ZoneName};

/// Monday 2026-03-23 00:00 UTC. On the Sunday after, Berlin goes from UTC+1 to UTC+2 at 01:00 UTC.
const MONDAY: u64 = 1_774_224_000;

const SPRING: u64 = 1_774_746_000;

/// Sunday 2026-10-25 01:00 UTC: back again.
const AUTUMN: u64 = 1_792_890_000;

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

fn berlin() -> Rules {
    let offset = |since: u64, ahead| Offset {
        since: i64::try_from(since).unwrap(),
        ahead,
    };
    Rules::new(vec![
        offset(0, 3600),
        offset(SPRING, 7200),
        offset(AUTUMN, 3600),
    ])
}

fn in_utc(hours: &[&str]) -> Window {
    Window {
        open: hours.iter().map(|text| text.parse().unwrap()).collect(),
        ..Window::default()
    }
}

fn in_berlin(hours: &[&str]) -> Window {
    Window {
        zone: "Europe/Berlin".parse().unwrap(),
        rules: berlin(),
        ..in_utc(hours)
    }
}

const fn open_until(moment: u64) -> Door {
    Door::Open {
        until: Some(moment),
    }
}

const fn closed_until(moment: u64) -> Door {
    Door::Closed {
        opens: Some(moment),
    }
}

#[test]
fn without_hours_it_is_always_open() {
    assert_eq!(in_utc(&[]).at(MONDAY), Door::Open { until: None });
}

#[test]
fn hours_are_open_from_their_first_second_and_not_in_their_last() {
    let window = in_utc(&["Mon 02:00-04:00"]);
    let (from, to) = (MONDAY + 2 * HOUR, MONDAY + 4 * HOUR);
    assert_eq!(window.at(from - 1), closed_until(from));
    assert_eq!(window.at(from), open_until(to));
    assert_eq!(window.at(to - 1), open_until(to));
    assert_eq!(window.at(to), closed_until(from + 7 * DAY), "in a week");
}

#[test]
fn hours_across_midnight_belong_to_the_day_on_which_they_begin() {
    let window = in_utc(&["Mon 22:00-06:00"]);
    let end = MONDAY + 30 * HOUR;
    assert_eq!(window.at(MONDAY + 23 * HOUR), open_until(end));
    assert_eq!(window.at(MONDAY + 29 * HOUR), open_until(end), "on Tuesday");
    let early = MONDAY + 5 * HOUR;
    assert_eq!(window.at(early), closed_until(MONDAY + 22 * HOUR));
}

#[test]
fn days_may_go_on_into_the_next_week() {
    let window = in_utc(&["Sun-Mon 01:00-02:00"]);
    assert_eq!(window.at(MONDAY + HOUR), open_until(MONDAY + 2 * HOUR));
    let sunday = MONDAY + 6 * DAY + HOUR;
    assert_eq!(window.at(MONDAY + 3 * DAY), closed_until(sunday));
}

#[test]
fn hours_that_follow_each_other_are_open_to_the_end_of_the_last() {
    let weekend = in_utc(&["Sat,Sun 00:00-24:00", "Mon 00:00-05:00"]);
    let saturday = MONDAY + 5 * DAY;
    let end = MONDAY + 7 * DAY + 5 * HOUR;
    assert_eq!(weekend.at(saturday), open_until(end));
}

#[test]
fn hours_are_those_of_the_zone_in_winter_and_in_summer() {
    let window = in_berlin(&["daily 22:00-23:00"]);
    assert_eq!(window.at(MONDAY), closed_until(MONDAY + 21 * HOUR));
    let after = MONDAY + 7 * DAY;
    assert_eq!(window.at(after), closed_until(after + 20 * HOUR));
}

#[test]
fn a_night_that_is_an_hour_short_ends_by_the_clock_on_the_wall() {
    let window = in_berlin(&["Sat 22:00-06:00"]);
    let begin = SPRING - 4 * HOUR;
    assert_eq!(window.at(begin), open_until(begin + 7 * HOUR));
    let begin = AUTUMN - 5 * HOUR;
    assert_eq!(window.at(begin), open_until(begin + 9 * HOUR), "and long");
}

#[test]
fn window_skipped_by_daylight_saving_opens_an_hour_later() {
    let window = in_berlin(&["Sun 02:00-03:00"]);
    assert_eq!(window.at(SPRING - 1), closed_until(SPRING));
    assert_eq!(window.at(SPRING), open_until(SPRING + HOUR));
}

#[test]
fn hours_that_the_clock_shows_twice_come_once() {
    let window = in_berlin(&["Sun 02:15-02:45"]);
    let first = AUTUMN - HOUR + 15 * 60;
    assert_eq!(window.at(first), open_until(first + 30 * 60));
    let again = first + HOUR;
    assert_eq!(window.at(again), closed_until(first + 7 * DAY + HOUR));
}

#[test]
fn hours_that_begin_where_the_clock_skips_never_come_to_nothing() {
    // 02:30 is 03:30 that night.
    let begin = SPRING + 30 * 60;
    let window = in_berlin(&["Sun 02:30-03:15"]);
    assert_eq!(window.at(begin), open_until(begin + 45 * 60));
    let window = in_berlin(&["Sun 02:30-06:00"]);
    let six = SPRING + 3 * HOUR;
    assert_eq!(
        window.at(begin),
        open_until(six),
        "by the clock on the wall"
    );
}

#[test]
fn a_moment_is_shown_by_the_clock_of_its_zone() {
    let window = in_berlin(&["daily 22:00-23:00"]);
    assert_eq!(window.shown(SPRING - 1), "Sun 01:59 Europe/Berlin");
    assert_eq!(window.shown(SPRING), "Sun 03:00 Europe/Berlin");
}

#[test]
fn what_is_no_hours_is_refused_with_what_hours_look_like() {
    for text in [
        "",
        "Mon",
        "22:00-06:00",
        "mon 22:00-06:00",
        "Monday 22:00-06:00",
        "Mon  22:00-06:00",
        "Mon, Tue 22:00-06:00",
        "Mon 22-06",
        "Mon 2:00-06:00",
        "Mon 22:00-06:60",
        "Mon 22:00-24:01",
        "Mon 24:00-06:00",
        "Mon 06:00-06:00",
        "Mon +1:00-06:00",
        "daily,Mon 22:00-06:00",
    ] {
        let refused = text.parse::<Hours>().unwrap_err().to_string();
        assert!(refused.contains("Mon-Fri 22:00-06:00"), "{text}: {refused}");
    }
}

#[test]
fn a_zone_is_a_name_that_leads_nowhere_else() {
    for text in [
        "UTC",
        "Europe/Berlin",
        "America/Argentina/Buenos_Aires",
        "Etc/GMT+5",
    ] {
        assert!(text.parse::<ZoneName>().is_ok(), "{text}");
    }
    for text in [
        "",
        "/etc/localtime",
        "../UTC",
        "Europe//Berlin",
        "Europe/",
        "a b",
        "Ö",
    ] {
        assert!(text.parse::<ZoneName>().is_err(), "{text}");
    }
}
