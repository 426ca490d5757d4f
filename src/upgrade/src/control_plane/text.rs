//! A text from outside: one harmless line of bounded length, from the moment it exists.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::sanitize;

/// One harmless line of at most `LONGEST` bytes. It is cleaned where it is made and where it is
/// read.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct Text<const LONGEST: usize>(String);

/// A name: of a node, a member, a file, a flag or an image.
pub type Name = Text<128>;

/// What somebody answered, or why something could not be read.
pub type Detail = Text<240>;

impl<const LONGEST: usize> Text<LONGEST> {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether nothing is left of it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same in at most this many bytes.
    #[must_use]
    pub fn within(&self, longest: usize) -> Self {
        let text = &self.0[..self.0.floor_char_boundary(longest)];
        Self(text.trim_end().to_owned())
    }
}

impl<const LONGEST: usize> From<&str> for Text<LONGEST> {
    fn from(text: &str) -> Self {
        // A first cut by letters keeps the begin and the end, and the second counts the bytes.
        Self(sanitize::cut(text, LONGEST)).within(LONGEST)
    }
}

impl<const LONGEST: usize> From<String> for Text<LONGEST> {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl<const LONGEST: usize> fmt::Display for Text<LONGEST> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_harmless_and_short_however_it_is_made() {
        let wild = format!("node\x1b[2J\n{}", "é".repeat(500));
        let made = Name::from(wild.as_str());
        let read: Name = serde_json::from_value(serde_json::Value::from(wild)).unwrap();
        for text in [made, read] {
            assert!(text.as_str().len() <= 128, "{text}");
            assert!(!text.as_str().contains(char::is_control), "{text}");
        }
    }

    #[test]
    fn a_shorter_text_ends_between_two_letters() {
        let text = Name::from("aéé");
        assert_eq!(text.within(4).as_str(), "aé");
        assert_eq!(text.within(100).as_str(), "aéé");
    }
}
