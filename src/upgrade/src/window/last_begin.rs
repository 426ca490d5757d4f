//! How late in the maintenance window the agent may still take a node from its users, so that it is
//! back before the window closes.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
