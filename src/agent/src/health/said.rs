//! The output of a check, cut to fit a message and the Node's annotations.

use std::process::Output;

use host::programs::last_line as last_of;

/// Why a check failed: the last line with text on standard error, or else on standard output, and
/// how the check ended.
#[must_use]
pub fn last_line(output: &Output) -> String {
    let line = last_of(&output.stderr).or_else(|| last_of(&output.stdout));
    let code = output.status.code();
    let status = code.map_or_else(
        || output.status.to_string(),
        |code| format!("exit status {code}"),
    );
    line.map_or_else(|| status.clone(), |line| format!("{line} ({status})"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    #[test]
    fn a_failed_check_is_told_by_standard_error_and_status() {
        let output = |status, stderr: &[u8]| Output {
            status: ExitStatus::from_raw(status),
            stdout: b"so far all is well\n".to_vec(),
            stderr: stderr.to_vec(),
        };
        let failed = last_line(&output(3 << 8, b"no such module\n"));
        assert_eq!(failed, "no such module (exit status 3)");
        let quiet = last_line(&output(1 << 8, b"\n"));
        assert_eq!(quiet, "so far all is well (exit status 1)");
        let killed = last_line(&output(9, b""));
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
