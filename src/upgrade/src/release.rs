//! Careen's own version, and the order of versions.

use std::fmt;
use std::str::FromStr;

use crate::id::Malformed;

/// The version of this build. Packages and container images are built with `CAREEN_VERSION` set
/// (packaging/build.sh); a plain `cargo build` uses Cargo's.
pub const THIS: &str = match option_env!("CAREEN_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

/// The longest accepted version: it is part of folder names and messages.
const LONGEST: usize = 64;

/// A version: `MAJOR.MINOR.PATCH` of a release. A build before that release adds a `~`, the
/// commit's time and the commit's name. A later version is greater: a release is greater than all
/// builds before it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    numbers: [u32; 3],
    is_release: bool,
    /// The time, such as `202611221200`, in UTC.
    time: u64,
    /// Distinguishes two builds of one minute, without saying which is later.
    commit: String,
}

impl FromStr for Release {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        let bad = || {
            Malformed::new(
                "version of Careen",
                text,
                "0.1.0 or 0.1.0~202611221200.abcdef123456",
            )
        };
        if text.len() > LONGEST {
            return Err(bad());
        }
        let (numbers, build) = match text.split_once('~') {
            Some((numbers, build)) => (numbers, Some(build)),
            None => (text, None),
        };
        let (time, commit) = match build {
            Some(build) => parse_build(build).ok_or_else(bad)?,
            None => (0, String::new()),
        };
        Ok(Self {
            numbers: parse_numbers(numbers).ok_or_else(bad)?,
            is_release: build.is_none(),
            time,
            commit,
        })
    }
}

/// Only digits: `u32` would also accept a sign, and a padded number would not be written as it was
/// read.
fn number<T: FromStr>(part: &str) -> Option<T> {
    let padded = part.len() > 1 && part.starts_with('0');
    let digits = part.bytes().all(|byte| byte.is_ascii_digit());
    part.parse().ok().filter(|_| digits && !padded)
}

fn parse_numbers(text: &str) -> Option<[u32; 3]> {
    let parts: Option<Vec<u32>> = text.split('.').map(number).collect();
    parts?.try_into().ok()
}

/// The commit part becomes part of a folder's name.
fn parse_build(text: &str) -> Option<(u64, String)> {
    let (time, commit) = text.split_once('.')?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.';
    (!commit.is_empty() && commit.bytes().all(plain)).then_some(())?;
    Some((number(time)?, commit.to_owned()))
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        if self.is_release {
            return Ok(());
        }
        write!(f, "~{}.{}", self.time, self.commit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(text: &str) -> Release {
        text.parse().unwrap()
    }

    #[test]
    fn this_build_has_a_version() {
        assert_eq!(release(THIS).to_string(), THIS);
    }

    #[test]
    fn releases_sort_by_build_time_and_after_their_own_builds() {
        let rising = [
            "0.1.0~202601010000.abc",
            "0.1.0~202611221200.000.dirty",
            "0.1.0",
            "0.1.9",
            "0.1.10~202611221201.abc",
            "0.2.0",
            "1.0.0",
        ];
        for pair in rising.windows(2) {
            assert!(release(pair[0]) < release(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn what_is_written_is_what_was_read() {
        for text in ["0.1.0", "10.20.30", "0.1.0~202611221200.abcdef123456.dirty"] {
            assert_eq!(release(text).to_string(), text);
        }
    }

    #[test]
    fn invalid_versions_and_path_traversal_are_refused() {
        let long = format!("0.1.0~1.{}", "a".repeat(100));
        for text in [
            "",
            "1",
            "1.2",
            "1.2.3.4",
            "v1.2.3",
            "+1.2.3",
            "01.2.3",
            "1.2.3~",
            "1.2.3~4",
            "1.2.3~4.",
            "1.2.3~x.y",
            "1.2.3~4./../..",
            "1.2.3-rc1",
            &long,
        ] {
            assert!(text.parse::<Release>().is_err(), "{text}");
        }
    }
}
