//! Text from other sources, made harmless for a terminal, a log and a Kubernetes object. This
//! module has the only rule: kubectl-careen, careen-provider and the agent all use it.
//!
//! A compromised node can write anything into its Node. So readers clean text while they
//! deserialise it, with [`Clean`]: a field that is added later is cleaned without further code.

mod clean;
mod letters;

use std::borrow::Cow;

use serde::de::DeserializeOwned;

pub use clean::Clean;
pub use letters::{harmless, steers};

/// The longest text to display, in characters.
pub const SHOWN: usize = 2000;

/// The mark of the middle that a text lost.
const GAP: &str = " … ";

/// The text, without its middle if it has more than `longest` characters: its begin says what
/// failed, and its end says why. The end is the longer part. Where there is no room for both, the
/// begin stays.
#[must_use]
pub fn ends(text: &str, longest: usize) -> Cow<'_, str> {
    let long = text.chars().count();
    if long <= longest {
        return Cow::Borrowed(text);
    }
    let room = longest.saturating_sub(GAP.chars().count());
    let begin = room * 3 / 8;
    let place = |letters: usize| {
        let found = text.char_indices().nth(letters);
        found.map_or(text.len(), |(place, _)| place)
    };
    if begin == 0 {
        return Cow::Borrowed(&text[..place(longest)]);
    }
    let (begin, end) = (&text[..place(begin)], &text[place(long - (room - begin))..]);
    Cow::Owned(format!("{}{GAP}{}", begin.trim_end(), end.trim_start()))
}

/// One harmless line of at most `longest` characters, as [`ends`] cuts it.
#[must_use]
pub fn cut(text: &str, longest: usize) -> String {
    let text = harmless(text);
    ends(text.trim(), longest).trim_end().to_owned()
}

/// One harmless line of at most [`SHOWN`] characters.
#[must_use]
pub fn line(text: &str) -> String {
    cut(text, SHOWN)
}

/// Reads JSON that a node wrote. Every string in it, including keys, is made harmless and has at
/// most `longest` bytes.
///
/// # Errors
/// The text is not JSON of this type.
pub fn from_json<T: DeserializeOwned>(text: &str, longest: usize) -> serde_json::Result<T> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = T::deserialize(Clean::new(&mut reader, longest))?;
    reader.end()?;
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_that_steers_becomes_a_space() {
        assert_eq!(line("no disk\x1b[2J\r\n"), "no disk [2J");
        let steering = [
            '\u{0}',
            '\u{7}',
            '\u{9b}',
            '\u{7f}',
            '\u{ad}',
            '\u{61c}',
            '\u{200b}',
            '\u{200d}',
            '\u{200e}',
            '\u{200f}',
            '\u{2028}',
            '\u{2029}',
            '\u{202a}',
            '\u{202e}',
            '\u{2060}',
            '\u{2066}',
            '\u{2069}',
            '\u{feff}',
            '\u{e0041}',
            '\u{e007f}',
            '\u{fe0f}',
        ];
        for letter in steering {
            assert_eq!(line(&format!("a{letter}b")), "a b", "{letter:?}");
        }
    }

    #[test]
    fn words_of_any_language_stay_as_they_are() {
        for text in [
            "/dev/sda: 12 % free",
            "Gerät fehlt…",
            "節点",
            "узел",
            "עברית",
            "e\u{301}",
        ] {
            assert_eq!(harmless(text), text);
        }
    }

    #[test]
    fn a_text_without_end_is_cut() {
        assert_eq!(line(&"x".repeat(200_000)).chars().count(), SHOWN);
        for longest in 0..20 {
            let cut = cut(&"é".repeat(200), longest);
            assert!(cut.chars().count() <= longest, "{longest}: {cut}");
        }
    }

    #[test]
    fn a_long_text_keeps_its_begin_and_its_end() {
        let middle = "failed: ".repeat(200);
        let long = format!("image pause:9.9 {middle}no such host\n");
        let cut = cut(&long, 100);
        assert!(cut.starts_with("image pause:9.9"), "{cut}");
        assert!(cut.ends_with("no such host"), "{cut}");
        assert!(cut.contains(" … ") && cut.chars().count() <= 100, "{cut}");
        assert_eq!(super::cut("whole", 5), "whole");
    }
}
