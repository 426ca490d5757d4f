//! Kubernetes versions: their order, and the skew between them.

mod order;

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::Malformed;
use crate::typo::{Wrong, letters};

/// The accepted form.
pub const ACCEPTED: &str = "vMAJOR.MINOR.PATCH, as v1.36.3";

/// The longest part after the numbers, in bytes.
const SUFFIX: usize = 63;

/// A released Kubernetes version. The order is that of Semantic Versioning, in which a pre-release
/// sorts before the release of the same number. Numbers in a suffix compare as numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    major: u32,
    minor: u32,
    patch: u32,
    suffix: String,
}

impl Version {
    /// The minor version: 36 of v1.36.3.
    #[must_use]
    pub const fn minor(&self) -> u32 {
        self.minor
    }

    /// The major version: 1 of v1.36.3.
    #[must_use]
    pub const fn major(&self) -> u32 {
        self.major
    }

    /// Whether this Kubernetes is older than the other one. Build metadata and the suffix of a
    /// vendor do not decide that: they name a build of one Kubernetes, and two vendors' suffixes
    /// have no order. Semantic Versioning ignores build metadata as well (semver.org, item 10).
    #[must_use]
    pub fn is_older_than(&self, other: &Self) -> bool {
        self.kubernetes(other) == Ordering::Less
    }

    /// The order of the Kubernetes in both, without the vendor's build.
    fn kubernetes(&self, other: &Self) -> Ordering {
        let before = || order::pre_releases(&self.suffix, &other.suffix);
        self.numbers().cmp(&other.numbers()).then_with(before)
    }

    const fn numbers(&self) -> (u32, u32, u32) {
        (self.major, self.minor, self.patch)
    }
}

/// Versions of one Kubernetes have an order as well, so that equal versions are the same text.
impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let built = || order::natural(&self.suffix, &other.suffix);
        let spelt = || self.suffix.cmp(&other.suffix);
        self.kubernetes(other).then_with(built).then_with(spelt)
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl FromStr for Version {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        parse(text).map_err(|wrong| wrong.in_field("Kubernetes version", text, ACCEPTED))
    }
}

fn parse(text: &str) -> Result<Version, Wrong> {
    let Some(bare) = text.strip_prefix('v') else {
        return Err(Wrong::at(0, "it does not begin with v"));
    };
    let (numbers, suffix) = bare
        .find(['-', '+'])
        .map_or((bare, ""), |at| bare.split_at(at));
    let end = 1 + numbers.len();
    let [major, minor, patch] = three(numbers).map_err(|wrong| wrong.moved(1))?;
    let clean = |c: char| c.is_ascii_alphanumeric() || ".-+".contains(c);
    letters(
        suffix,
        clean,
        "letters, digits, dots, dashes and plus signs",
    )
    .map_err(|wrong| wrong.within("its suffix").moved(end))?;
    if suffix.len() > SUFFIX {
        let says = format!(
            "its suffix has {} letters of at most {SUFFIX}",
            suffix.len()
        );
        return Err(Wrong::at(end + SUFFIX, says));
    }
    let suffix = suffix.to_owned();
    Ok(Version {
        major,
        minor,
        patch,
        suffix,
    })
}

fn three(text: &str) -> Result<[u32; 3], Wrong> {
    let mut at = 0;
    let mut parts = Vec::new();
    for part in text.split('.') {
        parts.push(number(part).map_err(|wrong| wrong.moved(at))?);
        at += part.len() + 1;
    }
    let count = parts.len();
    let three = parts.try_into();
    three.map_err(|_| Wrong::at(text.len(), format!("it has {count} of 3 numbers")))
}

/// No leading zeros: a version is also compared as text with what the kubelet reports.
fn number(part: &str) -> Result<u32, Wrong> {
    if part.is_empty() {
        return Err(Wrong::at(0, "a number is missing"));
    }
    letters(part, |c| c.is_ascii_digit(), "digits")
        .map_err(|wrong| wrong.within(&format!("its number {part:?}")))?;
    if part.len() > 1 && part.starts_with('0') {
        return Err(Wrong::at(0, format!("its number {part:?} begins with 0")));
    }
    let large = |_| Wrong::at(0, format!("its number {part:?} is too large"));
    part.parse().map_err(large)
}

impl TryFrom<String> for Version {
    type Error = Malformed;
    fn try_from(text: String) -> Result<Self, Malformed> {
        text.parse()
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "v{}.{}.{}{}",
            self.major, self.minor, self.patch, self.suffix
        )
    }
}
