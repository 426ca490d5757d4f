//! A reason with text of other programs in it.

use super::Reason;
use super::complaint::{complaint, cut};
use crate::sanitize;
use crate::typo::Malformed;

impl Reason {
    /// The sentence as reported on the Node. Text of other programs in it may be of any length, and
    /// a drain may name a hundred pods. A registry or a remote server may have written parts of it,
    /// and `kubectl describe` prints them unchanged.
    #[must_use]
    pub fn told(&self) -> String {
        let steers = |letter: char| letter != '\n' && sanitize::steers(letter);
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
