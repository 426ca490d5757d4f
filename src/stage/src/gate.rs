//! `gate`: delays boot-complete.target until a trial has a good verdict. The deadman ends a trial
//! that gets none.

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use crate::args::Args;
use crate::{look, passed};

/// How often the record is read.
const PAUSE: Duration = Duration::from_secs(2);

/// Returns when this boot counts as good.
pub fn run(args: &Args) -> ExitCode {
    if !look::is_trial(args) {
        return ExitCode::SUCCESS;
    }
    loop {
        match passed::has_passed(args) {
            Some(true) => return ExitCode::SUCCESS,
            Some(false) if !args.dry_run => thread::sleep(PAUSE),
            Some(false) | None => return ExitCode::FAILURE,
        }
    }
}
