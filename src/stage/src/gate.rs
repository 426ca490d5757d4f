//! `gate`: holds boot-complete.target back until a trial has its good verdict. The deadman ends a trial that gets none.

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use host::boot;
use host::journal::Store;

use crate::args::Args;
use crate::{fallback, look};

/// How often the record is looked at.
const PAUSE: Duration = Duration::from_secs(2);

/// Returns when this boot counts as good.
pub fn run(args: &Args) -> ExitCode {
    if !look::is_trial(args) {
        return ExitCode::SUCCESS;
    }
    let Ok((booted, _)) = boot::booted(&args.places.sysroot, &args.places.root) else {
        return ExitCode::FAILURE;
    };
    let store = Store::new(&args.places.sysroot);
    while !store
        .read()
        .is_ok_and(|record| fallback::has_good_verdict(&record, &booted))
    {
        if args.dry_run {
            return ExitCode::FAILURE;
        }
        thread::sleep(PAUSE);
    }
    ExitCode::SUCCESS
}
