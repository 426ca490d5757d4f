//! Kubernetes versions and the skew between them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::{Malformed, malformed};

/// A released Kubernetes version. A pre-release sorts before the release of the same number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    major: u32,
    minor: u32,
    patch: u32,
    /// `false` for a pre-release. Comes first, so that a release sorts after its pre-releases.
    released: bool,
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
}

impl FromStr for Version {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        let bad = || malformed("Kubernetes version", text, "vMAJOR.MINOR.PATCH, as v1.36.3");
        let bare = text.strip_prefix('v').ok_or_else(bad)?;
        let (numbers, suffix) = bare
            .find(['-', '+'])
            .map_or((bare, ""), |at| bare.split_at(at));
        let parts: Vec<u32> = numbers
            .split('.')
            .map(|part| number(part).ok_or_else(bad))
            .collect::<Result<_, _>>()?;
        let [major, minor, patch] = parts[..] else {
            return Err(bad());
        };
        let clean = |c: u8| c.is_ascii_alphanumeric() || b".-+".contains(&c);
        if !suffix.bytes().all(clean) || suffix.len() > 63 {
            return Err(bad());
        }
        let released = !suffix.starts_with('-');
        Ok(Self {
            major,
            minor,
            patch,
            released,
            suffix: suffix.to_owned(),
        })
    }
}

/// No leading zeros: a version is also compared as text with what the kubelet reports.
fn number(part: &str) -> Option<u32> {
    let padded = part.len() > 1 && part.starts_with('0');
    part.parse().ok().filter(|_| !padded)
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
