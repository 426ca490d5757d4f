//! Ending a boot.

use std::process::ExitCode;

use host::{Places, power};
use upgrade::exit;

use crate::args::Args;

/// Reboots and does not come back, except where that is impossible.
pub fn reboot(args: &Args, why: &str) -> ExitCode {
    eprintln!("careen-stage: rebooting into the old system: {why}");
    if args.dry_run {
        return ExitCode::from(exit::WOULD_REBOOT);
    }
    let Places { boot, .. } = &args.places;
    let refused = power::force_reboot(boot);
    eprintln!("careen-stage: reboot refused: {refused}");
    ExitCode::FAILURE
}
