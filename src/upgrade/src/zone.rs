//! A time zone as values: its name, and its offsets from UTC over time. The caller reads the rules.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::parsed_string;
use crate::typo::{Malformed, Wrong, length, letters};

/// The zone that needs no rules.
const UTC: &str = "UTC";

parsed_string!(
    /// A zone's name in the IANA database, such as `Europe/Berlin`.
    ZoneName
);

impl FromStr for ZoneName {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        match check(text) {
            Ok(()) => Ok(Self(text.to_owned())),
            Err(wrong) => Err(wrong.in_field("zone", text, ACCEPTED)),
        }
    }
}

/// The accepted form.
const ACCEPTED: &str = "a name of the IANA time zone database, as \"Europe/Berlin\", or \"UTC\"";

/// The name becomes part of a path, so letters that lead elsewhere are rejected.
fn check(text: &str) -> Result<(), Wrong> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_+-/".contains(c);
    letters(text, is_allowed, "a-z A-Z 0-9 _ + - /").map_err(|wrong| wrong.within("it"))?;
    length(text, 64).map_err(|wrong| wrong.within("it"))?;
    if text.split('/').any(str::is_empty) {
        return Err(Wrong::at(0, "it has an empty part beside a slash"));
    }
    Ok(())
}

impl Default for ZoneName {
    fn default() -> Self {
        Self(UTC.to_owned())
    }
}

impl ZoneName {
    /// Whether it is UTC, whose rules need no database.
    #[must_use]
    pub fn is_utc(&self) -> bool {
        self.0 == UTC
    }
}

/// The rules of a zone; the default is UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(Vec<Offset>);

/// An offset, and since when it applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Offset {
    /// In seconds since 1970; the first offset also applies before.
    pub since: i64,
    /// By how many seconds the zone's clock is ahead of UTC.
    pub ahead: i64,
}

impl Rules {
    /// Makes rules of these offsets.
    #[must_use]
    pub fn new(mut offsets: Vec<Offset>) -> Self {
        offsets.sort_unstable();
        Self(offsets)
    }

    /// By how many seconds the zone's clock is ahead of UTC at this time.
    #[must_use]
    pub fn offset(&self, moment: i64) -> i64 {
        let last = self.0.iter().rfind(|offset| offset.since <= moment);
        last.or(self.0.first()).map_or(0, |offset| offset.ahead)
    }

    /// The time at which the zone's clock shows `local`. RFC 5545, 3.3.5: a local time that occurs
    /// twice means the first; one that is skipped is read with the offset before the change.
    #[must_use]
    pub fn moment(&self, local: i64) -> i64 {
        let mut before = None;
        for (at, offset) in self.0.iter().enumerate() {
            let until = self.0.get(at + 1).map_or(i64::MAX, |next| next.since);
            let moment = local - offset.ahead;
            if moment < until {
                let skipped = before.filter(|_| moment < offset.since);
                return skipped.map_or(moment, |ahead: i64| local - ahead);
            }
            before = Some(offset.ahead);
        }
        local
    }
}
