//! The parts of a command line, as systemd and a shell see it.

/// What begins another command in a shell.
const NEXT: [char; 4] = [';', '|', '&', '('];

/// What ends a word of a shell, or of a list of paths.
const ENDS: &str = "\"'`;|&()<>={},:$\\";

/// What may precede the program in a line (systemd.service(5), "Command lines").
const PREFIXES: [char; 6] = ['-', '@', ':', '+', '!', '|'];

/// Names of the shell's own variables that have no letter.
const OF_THE_SHELL: [char; 6] = ['@', '*', '#', '?', '!', '-'];

/// A part of a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// A word.
    Word(&'a str),
    /// A name or a value beside an equals sign.
    Setting(&'a str),
    /// The name of a variable.
    Variable(&'a str),
    /// Another command begins.
    Next,
}

/// The parts of this line. `$X`, `${X}` and `$$X` are the variable `X`.
pub(super) fn parts(line: &str) -> Vec<Part<'_>> {
    let (mut parts, mut rest) = (Vec::new(), line.trim_start_matches(PREFIXES));
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let (part, after) = match first {
            '$' => variable(rest),
            _ if NEXT.contains(&first) => (Some(Part::Next), &rest[first.len_utf8()..]),
            _ if ends(first) => (None, &rest[first.len_utf8()..]),
            _ => word(rest, before),
        };
        before = last(rest, after).unwrap_or(before);
        parts.extend(part);
        rest = after;
    }
    parts
}

fn ends(letter: char) -> bool {
    letter.is_whitespace() || ENDS.contains(letter)
}

/// The last letter that was read.
fn last(rest: &str, after: &str) -> Option<char> {
    rest[..rest.len() - after.len()].chars().next_back()
}

/// `$1`, `$@` and such are the shell's own.
fn variable(rest: &str) -> (Option<Part<'_>>, &str) {
    let name = rest.trim_start_matches('$').trim_start_matches('{');
    let is_of_a_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let end = name.find(|letter| !is_of_a_name(letter));
    let (name, after) = name.split_at(end.unwrap_or(name.len()));
    let after = match name {
        "" => after.trim_start_matches(OF_THE_SHELL),
        _ => after,
    };
    let is_a_name = name.starts_with(|letter: char| !letter.is_ascii_digit());
    (is_a_name.then_some(Part::Variable(name)), after)
}

fn word(rest: &str, before: char) -> (Option<Part<'_>>, &str) {
    let (word, after) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
    // The default of `${X:-/opt/x}`.
    let word = word
        .strip_prefix('-')
        .filter(|path| path.starts_with('/'))
        .unwrap_or(word);
    let part = match before == '=' || after.starts_with('=') {
        true => Part::Setting(word),
        false => Part::Word(word),
    };
    (Some(part), after)
}

#[cfg(test)]
mod tests {
    use super::Part::{Next, Setting, Variable, Word};
    use super::*;

    #[test]
    fn variables_and_commands_in_a_line_are_told_apart() {
        assert_eq!(
            parts("-/bin/sh -c 'A=1; exec ${BIN}/x $$FLAGS'"),
            [
                Word("/bin/sh"),
                Word("-c"),
                Setting("A"),
                Setting("1"),
                Next,
                Word("exec"),
                Variable("BIN"),
                Word("/x"),
                Variable("FLAGS"),
            ]
        );
        assert_eq!(
            parts("${KUBELET:-/opt/x} $1 \"$@\""),
            [Variable("KUBELET"), Word("/opt/x")]
        );
    }
}
