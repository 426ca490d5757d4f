//! `fallback`: called where a shell for emergencies would open. On a trial nobody sits there, and the old system waits.

use std::process::ExitCode;

use host::boot;
use host::journal::Store;
use upgrade::{Deployment, Record};

use crate::args::Args;
use crate::{look, strict};

/// Reboots on a trial; on any other boot the distribution's own emergency goes on.
pub fn run(args: &Args) -> ExitCode {
    if !look::is_trial(args) || is_blessed(args) {
        return ExitCode::SUCCESS;
    }
    strict::reboot(args, "the new system has failed to boot")
}

/// The argument stays on the command line of a boot that was blessed since.
fn is_blessed(args: &Args) -> bool {
    let record = Store::new(&args.places.sysroot).read();
    let booted = boot::booted(&args.places.sysroot, &args.places.root);
    match (record, booted) {
        (Ok(record), Ok((booted, _))) => has_good_verdict(&record, &booted),
        (Err(_), _) | (_, Err(_)) => false,
    }
}

/// The record's verdict on this very deployment is good.
pub fn has_good_verdict(record: &Record, booted: &Deployment) -> bool {
    record.upgrade.as_ref().is_some_and(|upgrade| {
        upgrade.phase.has_good_verdict() && upgrade.to.as_ref().is_some_and(|to| to.same(booted))
    })
}
