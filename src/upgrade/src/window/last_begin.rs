//! How late in the maintenance window the agent may still take a node from its users, so that it is
//! back before the window closes.
//!
//! The unit is minutes, not seconds, and a started minute counts as a whole one. So a window of
//! thirty minutes has room for thirty, although nobody reads the clock in its first second.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Door, Window, unsigned};

/// The accepted form of [`LastBegin`].
pub const ACCEPTED: &str = "\"usual\", or 0 to 1440";

/// One day; a larger value makes no sense.
const LONGEST: u64 = 24 * 60;

/// The keyword.
const USUAL: &str = "usual";

/// The policy's `last-begin-minutes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastBegin {
    /// As many as this node's own upgrades took; 0 while the node has no history.
    #[default]
    Usual,
    /// This number of minutes.
    Minutes(u64),
}

/// The window does not have enough room now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shut {
    /// When it does, in seconds since 1970. `None` if no window is ever long enough, or if it is
    /// unknown.
    pub opens: Option<u64>,
    /// The same for display, with advice if it is never.
    pub why: String,
}

impl LastBegin {
    /// Whether a window can ever have so many minutes.
    #[must_use]
    pub const fn is_possible(self) -> bool {
        match self {
            Self::Usual => true,
            Self::Minutes(minutes) => minutes <= LONGEST,
        }
    }
}

impl Window {
    /// How many minutes must be left when the node is taken from its users.
    #[must_use]
    pub fn last_begin_minutes(&self) -> u64 {
        match self.last_begin {
            LastBegin::Usual => self.usual_seconds.unwrap_or(0).div_ceil(60),
            LastBegin::Minutes(minutes) => minutes,
        }
    }

    /// Why something that needs so many minutes of the window may not begin now; `None` if it may.
    #[must_use]
    pub fn shut(&self, wall: u64, minutes: u64) -> Option<Shut> {
        if self.open.is_empty() {
            return None;
        }
        if !self.knows_its_zone() {
            return Some(self.shut_in_an_unknown_zone());
        }
        let now = i64::try_from(wall).unwrap_or(0);
        let runs = self.runs(now);
        let has_room = |begin: i64, end: i64| begun_minutes(end - begin.max(now)) >= minutes;
        match runs.iter().find(|(begin, end)| has_room(*begin, *end)) {
            Some((begin, _)) if *begin <= now => None,
            Some((begin, _)) => Some(self.shut_until(unsigned(*begin), wall, minutes)),
            None => {
                let longest = runs.iter().map(|(begin, end)| begun_minutes(end - begin));
                Some(self.shut_for_ever(longest.max().unwrap_or(0), minutes))
            }
        }
    }

    fn shut_until(&self, opens: u64, wall: u64, minutes: u64) -> Shut {
        let shown = self.shown(opens);
        let why = match self.at(wall) {
            // Not the time left: the record would be rewritten every minute.
            Door::Open { until: Some(end) } => format!(
                "it is open until {}, and {}; it opens again {shown}",
                self.shown(end),
                self.wants(minutes)
            ),
            // The window is closed, or no minutes are needed: the next window is long enough.
            Door::Open { until: None } | Door::Closed { .. } => format!("it opens {shown}"),
        };
        let opens = Some(opens);
        Shut { opens, why }
    }

    fn shut_in_an_unknown_zone(&self) -> Shut {
        let why = format!(
            "this system's time zone database does not have {}, so the agent does not know when it opens; set zone in [window] of the policy to a zone that it has, or to \"UTC\" with hours of UTC",
            self.zone
        );
        Shut { opens: None, why }
    }

    fn shut_for_ever(&self, longest: u64, minutes: u64) -> Shut {
        let why = format!(
            "it is never open for more than {longest} min, and {}, so the node is never drained; make the hours of [window] in the policy longer, or set its last-begin-minutes to {longest} or less (0: begin whenever it is open)",
            self.wants(minutes)
        );
        Shut { opens: None, why }
    }

    fn wants(&self, minutes: u64) -> String {
        match self.last_begin {
            LastBegin::Usual => {
                format!(
                    "a drain begins with at least {minutes} min left, as long as upgrades usually cordon this node"
                )
            }
            LastBegin::Minutes(_) => {
                format!("a drain begins with at least {minutes} min left (last-begin-minutes)")
            }
        }
    }
}

fn begun_minutes(seconds: i64) -> u64 {
    unsigned(seconds).div_ceil(60)
}

impl Serialize for LastBegin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Usual => serializer.serialize_str(USUAL),
            Self::Minutes(minutes) => serializer.serialize_u64(*minutes),
        }
    }
}

impl<'de> Deserialize<'de> for LastBegin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reading)
    }
}

struct Reading;

impl Visitor<'_> for Reading {
    type Value = LastBegin;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ACCEPTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<LastBegin, E> {
        match text {
            USUAL => Ok(LastBegin::Usual),
            other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
        }
    }

    fn visit_u64<E: Error>(self, minutes: u64) -> Result<LastBegin, E> {
        Ok(LastBegin::Minutes(minutes))
    }

    /// TOML's integers are signed.
    fn visit_i64<E: Error>(self, minutes: i64) -> Result<LastBegin, E> {
        let refused = |_| E::invalid_value(serde::de::Unexpected::Signed(minutes), &self);
        u64::try_from(minutes)
            .map(LastBegin::Minutes)
            .map_err(refused)
    }
}
