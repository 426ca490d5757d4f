//! Small types that are parsed at the edge, so that inner code takes no unchecked strings.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use crate::typo::Malformed;
use crate::typo::{Wrong, count, length, letters};

/// Makes a string type that only its parser can construct, also from JSON.
macro_rules! parsed_string {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The text that was parsed.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = Malformed;
            fn try_from(text: String) -> Result<Self, Malformed> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(parsed: $name) -> String {
                parsed.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

pub(crate) use parsed_string;

parsed_string!(
    /// The checksum of an OSTree commit, or of another object: 64 lower-case hexadecimal digits.
    Digest
);

impl FromStr for Digest {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        match digits(text) {
            Ok(()) => Ok(Self(text.to_owned())),
            Err(wrong) => Err(wrong.within("it").in_field("commit", text, DIGITS)),
        }
    }
}

/// The accepted form of [`Digest`].
const DIGITS: &str = "64 lower-case hexadecimal digits";

/// Checks the digits of a checksum.
pub(crate) fn digits(text: &str) -> Result<(), Wrong> {
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    letters(text, is_hex, "0-9 and a-f")?;
    count(text, 64, "digits")
}

impl Digest {
    /// The first twelve digits, for display.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0[..12]
    }
}

parsed_string!(
    /// The digest of a container image's manifest: `sha256:` and 64 lower-case hexadecimal digits.
    ManifestDigest
);

impl FromStr for ManifestDigest {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        match manifest(text) {
            Ok(digest) => Ok(digest),
            Err(wrong) => {
                let accepted = "sha256: and 64 lower-case hexadecimal digits";
                Err(wrong.in_field("digest", text, accepted))
            }
        }
    }
}

/// Parses a manifest's digest.
pub(crate) fn manifest(text: &str) -> Result<ManifestDigest, Wrong> {
    let Some(rest) = text.strip_prefix(SHA256) else {
        return Err(Wrong::at(0, "its digest does not begin with sha256:"));
    };
    digits(rest).map_err(|wrong| wrong.within("its digest").moved(SHA256.len()))?;
    Ok(ManifestDigest(text.to_owned()))
}

/// The only supported algorithm: no registry that we know of uses another one.
const SHA256: &str = "sha256:";

impl ManifestDigest {
    /// The digits without the prefix.
    #[must_use]
    pub fn digits(&self) -> &str {
        self.0.strip_prefix(SHA256).unwrap_or(&self.0)
    }
}

parsed_string!(
    /// The id of one upgrade: the requester's own, or one that the agent derives.
    UpgradeId
);

impl FromStr for UpgradeId {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        let accepted = "1 to 63 of a-z A-Z 0-9 . _ -";
        match id(text) {
            Ok(()) => Ok(Self(text.to_owned())),
            Err(wrong) => Err(wrong.in_field("careen.dev/upgrade-id", text, accepted)),
        }
    }
}

/// The id becomes part of unit and folder names, so letters with a meaning there are rejected.
fn id(text: &str) -> Result<(), Wrong> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    letters(text, is_allowed, "a-z A-Z 0-9 . _ -").map_err(|wrong| wrong.within("it"))?;
    length(text, 63).map_err(|wrong| wrong.within("it"))?;
    if text.bytes().all(|c| c == b'.') {
        return Err(Wrong::at(0, "it has only dots"));
    }
    Ok(())
}

parsed_string!(
    /// The kernel's random id of one boot, as in /proc/sys/kernel/random/boot_id.
    BootId
);

impl FromStr for BootId {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        let text = text.trim();
        let allowed = |c: u8| c.is_ascii_hexdigit() || c == b'-';
        if (1..=36).contains(&text.len()) && text.bytes().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Malformed::new("boot id", text, "a UUID"))
        }
    }
}

/// Milliseconds since this boot by CLOCK_BOOTTIME, which clock changes do not affect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SinceBoot(pub u64);

impl SinceBoot {
    /// The moment `seconds` later.
    #[must_use]
    pub const fn plus_seconds(self, seconds: u64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(1000)))
    }

    /// Whole seconds since `earlier`; zero if `earlier` is later.
    #[must_use]
    pub const fn seconds_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0) / 1000
    }
}

/// A moment within one boot. It has no meaning in another boot, so it includes the boot's id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The boot in which it was taken.
    pub boot: BootId,
    /// The time in that boot, in milliseconds.
    pub at: SinceBoot,
}
