//! Other people's words in a reason.

use super::Reason;
use crate::id::Malformed;
use crate::plain;

/// The longest part of somebody else's complaint that is repeated, in characters.
const SHOWN: usize = 500;

/// The longest sentence that a Node is told, in bytes. All annotations of an object take 256 KiB together, those of others among them, and
/// the API server refuses the whole report beyond that; the same sentence is in three places of it.
pub const LONGEST: usize = 4096;

/// What stands where a sentence was cut.
const CUT: &str = "… (cut here; `careen-agent record` on the node has all of it)";

/// A text that fits on the Node: whole, or cut between two letters and marked so.
#[must_use]
pub fn cut(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(LONGEST - CUT.len());
    format!("{}{CUT}", &text[..end])
}

/// What a parser says of a bad text, for a reason's detail. It may repeat the text, which may be as long as it likes, and the
/// Node's annotations must take it.
#[must_use]
pub fn complaint(error: &impl std::fmt::Display) -> String {
    error.to_string().chars().take(SHOWN).collect()
}

impl Reason {
    /// The sentence as the Node is told it: other programs' words in it may be as long as they like, and a drain may name a hundred pods.
    /// A registry or a remote server may have written some of them, and `kubectl describe` prints them as they are.
    #[must_use]
    pub fn told(&self) -> String {
        let steers = |letter: char| letter != '\n' && plain::steers(letter);
        cut(&self.to_string().replace(steers, " "))
    }

    /// What the Node's pause means for what is asked of it. `by` is what ends it, where that is not the annotation itself.
    #[must_use]
    pub fn paused(why: &str, by: Option<String>) -> Self {
        Self::Paused {
            why: complaint(&why),
            by,
        }
    }
}

impl From<Malformed> for Reason {
    fn from(bad: Malformed) -> Self {
        Self::BadRequest {
            field: bad.field.to_owned(),
            value: bad.value,
            accepted: bad.accepted.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_others_steer_no_terminal_on_the_node() {
        let reason = Reason::Paused {
            why: "a\u{1b}[2J\u{202e}b\nc".to_owned(),
            by: None,
        };
        let told = reason.told();
        assert!(told.contains("a [2J b\nc"), "{told}");
    }
}
