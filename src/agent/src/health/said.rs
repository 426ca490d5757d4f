//! What a check said, cut to what a person and the Node's annotations can take.

use std::process::Output;

use host::programs::last_line as last_of;

pub use host::programs::SHOWN;

/// The last line of the output that holds anything, or how the check ended when there is none. A check that was killed could not say
/// so itself, so that is added to its line.
#[must_use]
pub fn last_line(output: &Output) -> String {
    let line = last_of(&output.stdout).or_else(|| last_of(&output.stderr));
    match (line, output.status.code()) {
        (Some(line), Some(_)) => line,
        (Some(line), None) => format!("{line} ({})", output.status),
        (None, _) => output.status.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    #[test]
    fn a_check_that_was_killed_is_told_so_beside_its_line() {
        let output = |status| Output {
            status: ExitStatus::from_raw(status),
            stdout: b"so far all is well\n".to_vec(),
            stderr: Vec::new(),
        };
        assert_eq!(last_line(&output(1 << 8)), "so far all is well");
        let killed = last_line(&output(9));
        assert!(killed.contains("well (signal: 9"), "{killed}");
    }

    #[test]
    fn nothing_that_steers_a_terminal_is_passed_on() {
        assert_eq!(
            last_of(b"no disk\x1b[2J\n\x1b \x07\n").as_deref(),
            Some("no disk [2J")
        );
        assert_eq!(
            last_of("a\u{202e}b\n\u{200b}\n".as_bytes()).as_deref(),
            Some("a b")
        );
        assert_eq!(last_of(b"\x1b\n"), None);
    }
}
