//! `restore`: puts the kubelet's state back in the old system. Runs before the kubelet and needs no API server.

use std::process::ExitCode;

use host::journal::Store;
use host::{boot, snapshot};
use upgrade::Upgrade;

use crate::args::Args;

/// Restores when a trial may have written. Never fails the boot: the kubelet may start on what there is.
pub fn run(args: &Args) -> ExitCode {
    let places = &args.places;
    let record = match Store::new(&places.sysroot).read() {
        Ok(record) => record,
        Err(reason) => {
            eprintln!("careen-stage: nothing is restored: {reason}");
            return ExitCode::FAILURE;
        }
    };
    let booted = match boot::booted(&places.sysroot, &places.root) {
        Ok((booted, _)) => booted,
        Err(error) => {
            eprintln!("careen-stage: nothing is restored: {error}");
            return ExitCode::FAILURE;
        }
    };
    match record.upgrade {
        Some(upgrade)
            if snapshot::is_wanted(&upgrade, &booted) && snapshot::exists(places, &upgrade.id) =>
        {
            put_back(args, &upgrade)
        }
        Some(_) | None => ExitCode::SUCCESS,
    }
}

fn put_back(args: &Args, upgrade: &Upgrade) -> ExitCode {
    match snapshot::restore(&args.places, &upgrade.id) {
        Ok(changed) => {
            eprintln!(
                "careen-stage: the kubelet's state of before the trial is back; files changed: {changed}"
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("careen-stage: the kubelet's state could not be put back: {error}");
            ExitCode::FAILURE
        }
    }
}
