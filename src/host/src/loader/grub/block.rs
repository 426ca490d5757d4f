//! GRUB's environment block as text: 1024 bytes of `name=value` lines.
//!
//! GRUB and a torn write work in sectors of 512 bytes, so Careen's variable comes first.

/// The length that GRUB demands, in bytes.
pub const LENGTH: usize = 1024;

/// The first line.
const HEADER: &str = "# GRUB Environment Block\n";

/// The variable of the one-shot entry.
pub const NEXT_ENTRY: &str = "next_entry";

/// The lines after the first, in their order: remarks, and variables with values as GRUB stores
/// them (a backslash before each backslash and newline).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grubenv {
    lines: Vec<String>,
    letters: Letters,
}

/// How the bytes of the block are read. GRUB does not care, and a `saved_entry` repeats a title.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Letters {
    #[default]
    Utf8,
    /// Each byte is one letter, so that every block is written as it was read.
    Bytes,
}

impl Grubenv {
    /// Parses a block.
    ///
    /// # Errors
    /// What is wrong with the block. GRUB boots the default if it cannot read the block.
    pub fn parse(block: &[u8]) -> std::result::Result<Self, String> {
        if block.len() != LENGTH {
            return Err(format!("it has {} bytes instead of {LENGTH}", block.len()));
        }
        let text = block
            .strip_prefix(HEADER.as_bytes())
            .ok_or("it does not begin with \"# GRUB Environment Block\"")?;
        let (text, letters) = match std::str::from_utf8(text) {
            Ok(text) => (text.to_owned(), Letters::Utf8),
            Err(_) => (
                text.iter().copied().map(char::from).collect(),
                Letters::Bytes,
            ),
        };
        let mut lines = unescaped_lines(&text);
        // The text after the last newline fills the block.
        let filling = lines.pop().unwrap_or_default();
        if filling.bytes().any(|byte| byte != b'#') {
            return Err("it does not end in # signs".to_owned());
        }
        match lines
            .iter()
            .find(|line| !line.starts_with('#') && !line.contains('='))
        {
            Some(line) => Err(format!("a line is not name=value: {line:?}")),
            None => Ok(Self { lines, letters }),
        }
    }

    /// The block of exactly 1024 bytes.
    ///
    /// # Errors
    /// When the lines do not fit.
    pub fn format(&self) -> std::result::Result<Vec<u8>, String> {
        let mut block = HEADER.as_bytes().to_vec();
        for line in &self.lines {
            match self.letters {
                Letters::Utf8 => block.extend_from_slice(line.as_bytes()),
                Letters::Bytes => {
                    block.extend(line.chars().filter_map(|one| u8::try_from(one).ok()))
                }
            }
            block.push(b'\n');
        }
        if block.len() > LENGTH {
            return Err(format!(
                "its lines need {} bytes; only {LENGTH} are available",
                block.len()
            ));
        }
        block.resize(LENGTH, b'#');
        Ok(block)
    }

    /// The entry to boot once. GRUB leaves an empty value, which is none.
    #[must_use]
    pub fn next_entry(&self) -> Option<&str> {
        self.variable(NEXT_ENTRY).filter(|value| !value.is_empty())
    }

    /// The stored value of a variable. GRUB sets one line after the other, so the last one counts.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        let mut values = self.lines.iter().rev();
        values.find_map(|line| value_in(line, name))
    }

    /// Sets the one-shot to a position in the menu, or removes it. Everything else stays.
    pub fn set_next_entry(&mut self, position: Option<usize>) {
        self.lines
            .retain(|line| value_in(line, NEXT_ENTRY).is_none());
        if let Some(position) = position {
            let remarks = self
                .lines
                .iter()
                .take_while(|line| line.starts_with('#'))
                .count();
            self.lines
                .insert(remarks, format!("{NEXT_ENTRY}={position}"));
        }
        self.settle_letters();
    }

    /// The removed line may be the one that was not UTF-8.
    fn settle_letters(&mut self) {
        if self.letters == Letters::Bytes
            && let Ok(block) = self.format()
            && let Ok(same) = Self::parse(&block)
        {
            *self = same;
        }
    }
}

fn value_in<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.strip_prefix(name)?.strip_prefix('=')
}

/// Lines as GRUB splits them: a newline after a backslash is part of the value
/// (grub-core/lib/envblk.c).
fn unescaped_lines(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut escaped = false;
    for letter in text.chars() {
        match (escaped, letter) {
            (false, '\n') => lines.push(String::new()),
            _ => lines
                .iter_mut()
                .last()
                .into_iter()
                .for_each(|line| line.push(letter)),
        }
        escaped = !escaped && letter == '\\';
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(variables: &str) -> Vec<u8> {
        let mut block = format!("{HEADER}{variables}").into_bytes();
        block.resize(LENGTH, b'#');
        block
    }

    #[test]
    fn setting_and_clearing_keeps_every_other_variable() {
        let before = block("saved_entry=a\\\nb\nboot_success=1\n");
        let mut env = Grubenv::parse(&before).unwrap();
        env.set_next_entry(Some(2));
        assert_eq!(
            env.format().unwrap(),
            block("next_entry=2\nsaved_entry=a\\\nb\nboot_success=1\n")
        );
        env.set_next_entry(None);
        assert_eq!(env.format().unwrap(), before);
    }

    #[test]
    fn arming_keeps_a_value_that_is_not_utf_8() {
        let mut before = block("saved_entry=Gr?sse\n");
        let at = before.iter().position(|byte| *byte == b'?').unwrap();
        // Latin-1, as in the title of an entry.
        before[at] = 0xf6;
        let mut env = Grubenv::parse(&before).unwrap();
        assert_eq!(env.format().unwrap(), before);
        env.set_next_entry(Some(1));
        assert_eq!(env.next_entry(), Some("1"));
        env.set_next_entry(None);
        assert_eq!(env.format().unwrap(), before);
    }

    #[test]
    fn an_empty_variable_is_no_one_shot() {
        assert_eq!(
            Grubenv::parse(&block("next_entry=\n"))
                .unwrap()
                .next_entry(),
            None
        );
    }

    #[test]
    fn the_last_of_two_one_shots_counts() {
        let mut env = Grubenv::parse(&block("next_entry=\nx=y\nnext_entry=1\n")).unwrap();
        assert_eq!(env.next_entry(), Some("1"));
        env.set_next_entry(None);
        assert_eq!(env.format().unwrap(), block("x=y\n"));
    }

    #[test]
    fn every_damage_is_an_error_and_no_panic() {
        for bad in [
            &b""[..],
            &[0; LENGTH],
            &block("x\n"),
            &block("")[..512],
            &vec![b'#'; 2048],
        ] {
            assert!(Grubenv::parse(bad).is_err());
        }
    }
}
