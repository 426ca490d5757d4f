//! The words of a command of GRUB.

/// The words of a command, each without its quotes.
pub(super) fn words(mut line: &str) -> impl Iterator<Item = String> {
    std::iter::from_fn(move || {
        line = line.trim_start();
        let word;
        (word, line) = (!line.is_empty()).then(|| next_word(line))?;
        Some(word)
    })
}

/// The first word of a text, without its quotes.
pub(super) fn first_word(text: &str) -> String {
    next_word(text.trim_start()).0
}

/// The word that a text begins with, without its quotes, and the rest. Shells and GRUB join the
/// parts of a word.
fn next_word(text: &str) -> (String, &str) {
    let mut word = String::new();
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, ' ' | '\t') => break,
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), close) if open == close => quote = None,
            (None | Some('"'), '\\') => word.extend(letters.next()),
            _ => word.push(letter),
        }
    }
    (word, letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_read_without_its_quotes() {
        assert_eq!(first_word(r"'it'\''s one' --class os"), "it's one");
        assert_eq!(first_word(r#""two \" words" {"#), "two \" words");
        assert_eq!(first_word("bare {"), "bare");
    }
}
