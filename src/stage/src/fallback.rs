//! `fallback`: called where a shell for emergencies would open. On a trial nobody sits there, and the old system waits.

use std::process::ExitCode;

use crate::args::Args;
use crate::{look, passed, strict};

/// Reboots on a trial; on any other boot the distribution's own emergency goes on.
pub fn run(args: &Args) -> ExitCode {
    if !look::is_trial(args) || passed::has_passed(args) == Some(true) {
        return ExitCode::SUCCESS;
    }
    strict::reboot(args, "the new system failed to boot")
}
