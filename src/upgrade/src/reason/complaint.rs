//! Text of other programs in a reason.

use super::Reason;
use crate::plain;
use crate::wrong::Malformed;

/// The longest error text of another program that a reason repeats, in characters.
const SHOWN: usize = 500;

/// The longest sentence reported on the Node, in bytes. All annotations of an object may take 256
/// KiB together, including those of other programs. The API server rejects the whole report beyond
/// that, and the report has the sentence in three places.
pub const LONGEST: usize = 4096;

/// The mark at the end of a sentence that was cut.
const CUT: &str = "… (cut here; `careen-agent record` on the node has all of it)";

/// A text that fits on the Node: whole, or cut at a character boundary and marked.
#[must_use]
pub fn cut(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(LONGEST - CUT.len());
    format!("{}{CUT}", &text[..end])
}

/// The error of a parser or a program, as the detail of a reason. It may repeat input of any
/// length, so it loses its middle where it does not fit the Node's annotations.
#[must_use]
pub fn complaint(error: &impl std::fmt::Display) -> String {
    plain::ends(&error.to_string(), SHOWN).into_owned()
}

impl Reason {
    /// The sentence as reported on the Node. Text of other programs in it may be of any length, and
    /// a drain may name a hundred pods. A registry or a remote server may have written parts of it,
    /// and `kubectl describe` prints them unchanged.
    #[must_use]
    pub fn told(&self) -> String {
        let steers = |letter: char| letter != '\n' && plain::steers(letter);
        cut(&self.to_string().replace(steers, " "))
    }

    /// The reason for a request on a paused Node. `by` is what ends the pause, if not the
    /// annotation itself.
    #[must_use]
    pub fn paused(why: &str, by: Option<String>) -> Self {
        Self::Paused {
            why: complaint(&why),
            by,
            advice: None,
        }
    }
}

impl From<Malformed> for Reason {
    fn from(bad: Malformed) -> Self {
        Self::BadRequest {
            field: bad.field.to_owned(),
            value: bad.value,
            accepted: bad.accepted.to_owned(),
            wrong: bad.wrong,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaint_says_what_failed_and_why() {
        let long = format!("pull of os:9 {} no route", "x".repeat(2000));
        let told = complaint(&long);
        assert!(told.starts_with("pull of os:9"), "{told}");
        assert!(told.ends_with("no route"), "{told}");
    }

    #[test]
    fn the_words_of_others_steer_no_terminal_on_the_node() {
        let reason = Reason::Paused {
            why: "a\u{1b}[2J\u{202e}b\nc".to_owned(),
            by: None,
            advice: None,
        };
        let told = reason.told();
        assert!(told.contains("a [2J b\nc"), "{told}");
    }
}
