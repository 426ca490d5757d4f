//! What others wrote, made fit for a terminal: a node writes its own annotations, and a captured one writes what it likes.

/// The longest text that is shown, in characters.
const SHOWN: usize = 2000;

/// One line without anything that steers a terminal.
#[must_use]
pub fn line(text: &str) -> String {
    let seen = text.replace(steers, " ");
    seen.trim().chars().take(SHOWN).collect()
}

/// Control characters, and those that turn the direction of what follows.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_passed_on() {
        assert_eq!(line("no disk\x1b[2J\r\n"), "no disk [2J");
        assert_eq!(line("a\u{202e}b"), "a b");
    }

    #[test]
    fn a_text_without_end_is_cut() {
        assert_eq!(line(&"x".repeat(200_000)).len(), SHOWN);
    }
}
