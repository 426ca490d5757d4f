//! Text of other programs in a reason.

use crate::sanitize;

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
    sanitize::ends(&error.to_string(), SHOWN).into_owned()
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
}
