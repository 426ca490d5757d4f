//! `restore`: puts the kubelet's state back in the old system, once behind each time that the target may have run. Runs before the kubelet
//! and needs no API server.

use std::process::ExitCode;

use host::journal::Store;
use host::{boot, mounts, snapshot};
use upgrade::{Deployment, Upgrade};

use crate::args::Args;

/// Restores when a trial may have written. Never fails the boot: the kubelet may start on what there is.
pub fn run(args: &Args) -> ExitCode {
    let places = &args.places;
    let record = match Store::new(&places.sysroot).read() {
        Ok(record) => record,
        Err(reason) => return failed(&format!("nothing is restored: {reason}")),
    };
    let booted = match boot::booted(&places.sysroot, &places.root) {
        Ok((booted, _)) => booted,
        Err(error) => return failed(&format!("nothing is restored: {error}")),
    };
    match record.upgrade {
        Some(upgrade) if snapshot::exists(places, &upgrade.id) => by(args, &upgrade, &booted),
        Some(_) | None => ExitCode::SUCCESS,
    }
}

fn by(args: &Args, upgrade: &Upgrade, booted: &Deployment) -> ExitCode {
    if upgrade.to.as_ref().is_some_and(|to| to.same(booted)) {
        return target_runs(args, upgrade);
    }
    if !snapshot::is_wanted(upgrade, booted) || snapshot::is_over(&args.places, upgrade) {
        return ExitCode::SUCCESS;
    }
    match snapshot::open(&args.places, &upgrade.id) {
        Ok(saved) => put_back(args, upgrade, &saved),
        // Nothing was touched, so nothing is noted: the next boot may be able to read it.
        Err(error) => failed(&format!(
            "the kubelet's state could not be put back: {error}"
        )),
    }
}

/// What the target writes now is not for the old system: there it is put back once more.
fn target_runs(args: &Args, upgrade: &Upgrade) -> ExitCode {
    if !snapshot::is_noted(&args.places, &upgrade.id) {
        return ExitCode::SUCCESS;
    }
    let begun = writable(args).and_then(|()| snapshot::begin_anew(&args.places, &upgrade.id));
    told(begun, "that the target runs could not be noted")
}

/// Also what was put back in part is not put back again: the kubelet starts on it now.
fn put_back(args: &Args, upgrade: &Upgrade, saved: &snapshot::Snapshot) -> ExitCode {
    let done = saved.put_back(&args.places);
    let noted = writable(args).and_then(|()| snapshot::note(&args.places, upgrade));
    let noted = told(noted, "that it was put back could not be noted");
    match done {
        Ok(changed) => {
            eprintln!(
                "careen-stage: the kubelet's state of before the trial is back; files changed: {changed}"
            );
            noted
        }
        Err(error) => failed(&format!(
            "the kubelet's state could not be put back: {error}"
        )),
    }
}

/// /sysroot is read-only for all others.
fn writable(args: &Args) -> host::Result<()> {
    if args.dry_run {
        return Ok(());
    }
    mounts::make_private()?;
    mounts::make_writable(&args.places.sysroot)
}

fn told(done: host::Result<()>, what: &str) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&format!("{what}: {error}")),
    }
}

fn failed(why: &str) -> ExitCode {
    eprintln!("careen-stage: {why}");
    ExitCode::FAILURE
}
