//! What a check said, cut to what a person and the Node's annotations can take.

use std::process::Output;

/// The longest reason that is repeated, in characters.
pub const SHOWN: usize = 200;

/// The last line of the output that holds anything, or how the check ended when there is none.
#[must_use]
pub fn last_line(output: &Output) -> String {
    let line = last_of(&output.stdout).or_else(|| last_of(&output.stderr));
    line.unwrap_or_else(|| output.status.to_string())
}

/// The line comes to terminals and into JSON: what steers them instead of being shown is taken out before anything is cut.
fn last_of(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines().rev().map(shown);
    lines.find(|line| !line.is_empty())
}

fn shown(line: &str) -> String {
    let seen = line.replace(char::is_control, " ");
    seen.trim().chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_passed_on() {
        assert_eq!(
            last_of(b"no disk\x1b[2J\n\x1b \x07\n").as_deref(),
            Some("no disk [2J")
        );
        assert_eq!(last_of(b"\x1b\n"), None);
    }
}
