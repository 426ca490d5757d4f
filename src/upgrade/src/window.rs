//! The maintenance window: whether something new may begin now, and if not, when.
//!
//! Its hours are in the wall-clock time of one time zone. The caller that reads the policy file
//! supplies the zone's rules, so this module reads no file or clock.

mod last_begin;
mod shut;

use std::fmt;
use std::str::FromStr;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

pub use last_begin::{ACCEPTED as LAST_BEGIN, LastBegin, Shut};

use crate::typo::{self, Malformed, Wrong};
use crate::zone::{Rules, ZoneName};

/// The accepted form of [`Hours`].
pub const ACCEPTED: &str = "days and hours, as \"Mon-Fri 22:00-06:00\", \"Sat,Sun 00:00-24:00\" or \"daily 02:00-04:30\", that do not end where they begin";

/// Hours come again after a week, or an hour later.
const DAYS_AHEAD: i64 = 8;

/// Why nobody knows whether the hours are open.
pub const NO_TIME: &str = "no time service has set this machine's clock since it booted, so the agent does not know the time; start chrony or systemd-timesyncd, or set trust-clock = true in [window] of the policy";

const DAY: i64 = 86_400;

/// The days of the week from Monday on, as users write them.
const WEEK: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// 1970 began on a Thursday.
const FIRST_DAY: i64 = 3;

/// When upgrades may begin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Window {
    /// The hours in which upgrades may begin. If empty, they may begin at any time.
    pub open: Vec<Hours>,
    /// The time zone of the hours.
    pub zone: ZoneName,
    /// Steps without effect on the node's users (fetch, verify, rehearsal) may begin at any time.
    pub fetch_outside: bool,
    /// The hours count although no time service has set the clock since the boot.
    pub trust_clock: bool,
    /// How many minutes of the window must be left when the node is taken from its users.
    #[serde(rename = "last-begin-minutes")]
    pub last_begin: LastBegin,
    /// The rules of the zone. A zone other than UTC without rules keeps the window closed.
    #[serde(skip)]
    pub rules: Rules,
    /// How long upgrades usually keep this node from its users, in seconds. It is in no file: the
    /// caller that has the record sets it.
    #[serde(skip)]
    pub usual_seconds: Option<u64>,
}

/// The same hours on some days of each week. They belong to the day on which they begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct Hours {
    text: String,
    days: [bool; 7],
    /// Minutes of the day.
    from: i64,
    /// Minutes of the same day, or of the next day if not after `from`.
    to: i64,
}

/// Whether something new may begin. Times are seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// The window is open.
    Open {
        /// When it closes; `None` if never.
        until: Option<u64>,
    },
    /// The window is closed.
    Closed {
        /// When it opens; `None` if that is unknown.
        opens: Option<u64>,
    },
}

impl Window {
    /// Whether the hours mean nothing, since the clock was not set in this boot
    /// ([`crate::observe::Turn::clock_set`]).
    #[must_use]
    pub const fn lacks_the_time(&self, clock_set: bool) -> bool {
        !(self.open.is_empty() || self.trust_clock || clock_set)
    }

    /// The state by this machine's clock. It is closed while nobody knows the time.
    #[must_use]
    pub fn by_the_clock(&self, wall: u64, clock_set: bool) -> Door {
        if self.lacks_the_time(clock_set) {
            return Door::Closed { opens: None };
        }
        self.at(wall)
    }

    /// The state at this time.
    #[must_use]
    pub fn at(&self, wall: u64) -> Door {
        if self.open.is_empty() {
            return Door::Open { until: None };
        }
        if !self.knows_its_zone() {
            return Door::Closed { opens: None };
        }
        let now = i64::try_from(wall).unwrap_or(0);
        match self.runs(now).first() {
            Some((begin, end)) if *begin <= now => Door::Open {
                until: Some(unsigned(*end)),
            },
            // Each week has these hours.
            next => Door::Closed {
                opens: Some(unsigned(next.map_or(now + DAY, |(begin, _)| *begin))),
            },
        }
    }

    /// Whether the rules of the zone are known. Only UTC needs none. Any other zone has at least
    /// one rule, so without rules nobody has read them, and no hours can be computed.
    fn knows_its_zone(&self) -> bool {
        self.zone.is_utc() || self.rules != Rules::default()
    }

    /// The spans that are open now or will be, the earliest first, as begin and end.
    fn spans(&self, now: i64) -> Vec<(i64, i64)> {
        let today = (now + self.rules.offset(now)).div_euclid(DAY);
        // A span that began yesterday may continue past midnight.
        let days = today - 1..=today + DAYS_AHEAD;
        let mut spans: Vec<_> = days
            .flat_map(|day| self.open.iter().map(move |hours| (day, hours)))
            .filter(|(day, hours)| hours.days[weekday(*day)])
            .map(|(day, hours)| hours.on(day, &self.rules))
            .filter(|(_, end)| now < *end)
            .collect();
        spans.sort_unstable();
        spans
    }

    /// The same spans, with those that overlap or touch merged.
    fn runs(&self, now: i64) -> Vec<(i64, i64)> {
        let mut runs: Vec<(i64, i64)> = Vec::new();
        for (begin, end) in self.spans(now) {
            match runs.last_mut() {
                Some((_, last)) if begin <= *last => *last = end.max(*last),
                Some(_) | None => runs.push((begin, end)),
            }
        }
        runs
    }

    /// A time by the zone's clock, for display. Hours repeat each week, so the weekday is enough.
    #[must_use]
    pub fn shown(&self, moment: u64) -> String {
        let moment = i64::try_from(moment).unwrap_or(0);
        let local = moment + self.rules.offset(moment);
        let (day, minute) = (local.div_euclid(DAY), local.rem_euclid(DAY) / 60);
        let (hour, minute) = (minute / 60, minute % 60);
        format!("{} {hour:02}:{minute:02} {}", WEEK[weekday(day)], self.zone)
    }
}

fn weekday(day: i64) -> usize {
    usize::try_from((day + FIRST_DAY).rem_euclid(7)).unwrap_or(0)
}

fn unsigned(moment: i64) -> u64 {
    u64::try_from(moment).unwrap_or(0)
}

impl Hours {
    /// Begin and end of the hours that begin on this day, counted from 1970.
    fn on(&self, day: i64, rules: &Rules) -> (i64, i64) {
        let next = if self.to > self.from { 0 } else { DAY };
        let local = |minutes: i64| day * DAY + minutes * 60;
        let (from, to) = (local(self.from), local(self.to) + next);
        let (begin, end) = (rules.moment(from), rules.moment(to));
        // Hours that the clock skips keep their length, as if the clock had not moved forward.
        (begin, if end > begin { end } else { begin + to - from })
    }
}

impl FromStr for Hours {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        parse(text).map_err(|wrong| wrong.in_field("hours", text, ACCEPTED))
    }
}

fn parse(text: &str) -> Result<Hours, Wrong> {
    let Some((days, hours)) = text.split_once(' ') else {
        return Err(Wrong::at(
            text.len(),
            "it has no blank between days and hours",
        ));
    };
    let days_of_week = days_of(days)?;
    let begin = days.len() + 1;
    let Some((from, to)) = hours.split_once('-') else {
        return Err(Wrong::at(text.len(), "it has no dash between two times"));
    };
    let end_at = begin + from.len() + 1;
    let (from, to) = (
        minutes(from).map_err(|wrong| wrong.moved(begin))?,
        minutes(to).map_err(|wrong| wrong.moved(end_at))?,
    );
    if from == 24 * 60 {
        return Err(Wrong::at(
            begin,
            "24:00 is no begin; write 00:00 of the next day",
        ));
    }
    if from == to {
        return Err(Wrong::at(end_at, "it ends where it begins"));
    }
    Ok(Hours {
        text: text.to_owned(),
        days: days_of_week,
        from,
        to,
    })
}

fn days_of(text: &str) -> Result<[bool; 7], Wrong> {
    if text == "daily" {
        return Ok([true; 7]);
    }
    let mut days = [false; 7];
    let mut at = 0;
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let day = |text| day_of(text).map_err(|wrong| wrong.moved(at));
        let (first, last) = (day(first)?, day(last)?);
        // Fri-Mon continues into the next week.
        let length = (last + 7 - first) % 7;
        (first..=first + length).for_each(|day| days[day % 7] = true);
        at += part.len() + 1;
    }
    Ok(days)
}

fn day_of(text: &str) -> Result<usize, Wrong> {
    let day = WEEK.iter().position(|day| *day == text);
    day.ok_or_else(|| {
        let near = typo::nearest(text, &[&WEEK[..], &["daily"]].concat());
        Wrong::at(0, format!("{text:?} is no day{}", meant(near)))
    })
}

fn meant(near: Option<&str>) -> String {
    let said = |near| format!(" ({near:?} is perhaps meant)");
    near.map(said).unwrap_or_default()
}

/// The minutes of a time of day, 00:00 to 24:00.
fn minutes(text: &str) -> Result<i64, Wrong> {
    let bad = |says: &str| Wrong::at(0, format!("its time {text:?} {says}"));
    let Some((hour, minute)) = text.split_once(':') else {
        return Err(bad("is not HH:MM"));
    };
    let number = |text: &str| -> Option<i64> {
        let two_digits = text.len() == 2 && text.bytes().all(|c| c.is_ascii_digit());
        two_digits.then(|| text.parse().ok()).flatten()
    };
    let (Some(hour), Some(minute)) = (number(hour), number(minute)) else {
        return Err(bad("is not HH:MM, each of two digits"));
    };
    let all = hour * 60 + minute;
    if minute > 59 || all > 24 * 60 {
        return Err(bad("is after 24:00, or its minute is after 59"));
    }
    Ok(all)
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Not `TryFrom`: a parser knows the position of a list element only while it reads that element.
impl<'de> Deserialize<'de> for Hours {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Reading)
    }
}

struct Reading;

impl Visitor<'_> for Reading {
    type Value = Hours;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ACCEPTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Hours, E> {
        text.parse().map_err(E::custom)
    }
}

impl From<Hours> for String {
    fn from(hours: Hours) -> Self {
        hours.text
    }
}
