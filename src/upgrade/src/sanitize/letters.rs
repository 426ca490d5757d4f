//! The letters that steer a terminal.

use std::borrow::Cow;

/// Whether a terminal acts on this character, or a person does not see it: control characters, line
/// separators, and the characters that Unicode lists as `Default_Ignorable_Code_Point`
/// (bidirectional controls, zero-width characters, tags, variation selectors).
#[must_use]
pub fn steers(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// The text with a space in place of each such character, so that two words do not become one.
#[must_use]
pub fn harmless(text: &str) -> Cow<'_, str> {
    if text.contains(steers) {
        Cow::Owned(text.replace(steers, " "))
    } else {
        Cow::Borrowed(text)
    }
}
