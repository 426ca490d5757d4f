//! What etcd calls itself: the id of a member, a version, and the tag of an image.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::text::Text;

/// A text that is not what etcd says there.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what} is {value:?}; expected {accepted}")]
pub struct NotEtcd {
    what: &'static str,
    value: Text<64>,
    accepted: &'static str,
}

impl NotEtcd {
    fn new(what: &'static str, value: &str, accepted: &'static str) -> Self {
        let value = Text::from(value);
        Self {
            what,
            value,
            accepted,
        }
    }
}

/// The id of a member, which etcd's own tools show as a hexadecimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EtcdId(pub u64);

impl fmt::Display for EtcdId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

impl From<EtcdId> for String {
    fn from(id: EtcdId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for EtcdId {
    type Error = NotEtcd;
    fn try_from(text: String) -> Result<Self, NotEtcd> {
        let bad = |_| NotEtcd::new("an etcd id", &text, "a hexadecimal number of 64 bits");
        u64::from_str_radix(&text, 16).map(Self).map_err(bad)
    }
}

/// A version of etcd, as 3.6.8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EtcdVersion {
    /// 3 of 3.6.8.
    pub major: u32,
    /// 6 of 3.6.8.
    pub minor: u32,
    /// 8 of 3.6.8.
    pub patch: u32,
}

impl EtcdVersion {
    /// The version of three numbers.
    #[must_use]
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self {
            major,
            minor,
            patch,
        }
    }

    /// The part that decides about the data: 3.6 of 3.6.8.
    #[must_use]
    pub const fn line(self) -> (u32, u32) {
        (self.major, self.minor)
    }
}

impl FromStr for EtcdVersion {
    type Err = NotEtcd;
    fn from_str(text: &str) -> Result<Self, NotEtcd> {
        let bad = || NotEtcd::new("etcd's version", text, "MAJOR.MINOR.PATCH, as 3.6.8");
        // A pre-release or a build does not change which data it can read.
        let bare = text.split(['-', '+']).next().unwrap_or_default();
        let numbers: Option<Vec<u32>> = bare.split('.').map(number).collect();
        match numbers.as_deref() {
            Some(&[major, minor, patch]) => Ok(Self::new(major, minor, patch)),
            _ => Err(bad()),
        }
    }
}

/// A number in digits alone; Rust's own parser also takes a sign.
fn number(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|letter| letter.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

impl fmt::Display for EtcdVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl From<EtcdVersion> for String {
    fn from(version: EtcdVersion) -> Self {
        version.to_string()
    }
}

impl TryFrom<String> for EtcdVersion {
    type Error = NotEtcd;
    fn try_from(text: String) -> Result<Self, NotEtcd> {
        text.parse()
    }
}

/// The tag of etcd's image, as 3.6.8-0. The same version in another build has another tag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EtcdTag {
    version: EtcdVersion,
    tag: Text<64>,
}

impl EtcdTag {
    /// The version in it.
    #[must_use]
    pub const fn version(&self) -> EtcdVersion {
        self.version
    }
}

impl FromStr for EtcdTag {
    type Err = NotEtcd;
    fn from_str(text: &str) -> Result<Self, NotEtcd> {
        let version = text.strip_prefix('v').unwrap_or(text).parse()?;
        let tag = Text::from(text);
        Ok(Self { version, tag })
    }
}

impl fmt::Display for EtcdTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tag.fmt(f)
    }
}

impl From<EtcdTag> for String {
    fn from(tag: EtcdTag) -> Self {
        tag.to_string()
    }
}

impl TryFrom<String> for EtcdTag {
    type Error = NotEtcd;
    fn try_from(text: String) -> Result<Self, NotEtcd> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_hexadecimal_as_etcdctl_shows_it() {
        let id = EtcdId(10_501_334_649_042_878_790);
        assert_eq!(id.to_string(), "91bc3c398fb3c146");
        assert_eq!(EtcdId::try_from(id.to_string()), Ok(id));
        for text in ["", "x", "91bc3c398fb3c1460"] {
            assert!(EtcdId::try_from(text.to_owned()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_version_has_three_numbers() {
        for (text, version) in [
            ("3.6.8", EtcdVersion::new(3, 6, 8)),
            ("3.5.24-0", EtcdVersion::new(3, 5, 24)),
            ("3.7.0-rc.1", EtcdVersion::new(3, 7, 0)),
        ] {
            assert_eq!(text.parse(), Ok(version), "{text}");
        }
        for text in [
            "",
            "3",
            "3.6",
            "3.6.x",
            "3.6.8.1",
            "3.-6.8",
            "+3.6.8",
            "99999999999.1.1",
        ] {
            assert!(text.parse::<EtcdVersion>().is_err(), "{text:?}");
        }
        assert!(EtcdVersion::new(3, 5, 26) > EtcdVersion::new(3, 5, 9));
    }

    #[test]
    fn two_builds_of_one_version_have_different_tags() {
        let [first, second]: [EtcdTag; 2] = ["3.6.8-0", "3.6.8-1"].map(|tag| tag.parse().unwrap());
        assert_ne!(first, second);
        assert_eq!(first.version(), second.version());
        assert_eq!(
            "v3.6.8".parse::<EtcdTag>().unwrap().version(),
            first.version()
        );
        let error = "latest".parse::<EtcdTag>().unwrap_err().to_string();
        assert!(error.contains("latest"), "{error}");
    }
}
