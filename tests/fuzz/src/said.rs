//! The output of a user's check, and after a line of `%%` its output on the other stream.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Output};

use host::programs::SHOWN;

use crate::agent_said::last_line;

/// The suffix of the line.
const STATUS: &str = " (exit status 1)";

/// There is always a reason. It is one line of limited length, and a terminal only displays it.
pub fn check(input: &[u8]) {
    let separator = b"\n%%\n";
    let at = input
        .windows(separator.len())
        .position(|window| window == separator);
    let (stdout, stderr) = at.map_or((input, &[][..]), |at| {
        (&input[..at], &input[at + separator.len()..])
    });
    let reason = last_line(&Output {
        status: ExitStatus::from_raw(256),
        stdout: stdout.to_vec(),
        stderr: stderr.to_vec(),
    });
    let longest = SHOWN + STATUS.chars().count();
    assert!(
        (1..=longest).contains(&reason.chars().count()),
        "{reason:?}"
    );
    assert!(!reason.contains(char::is_control), "{reason:?}");
    assert!(!reason.trim().is_empty());
}
