//! `restore`: puts the kubelet's state back in the old system, once behind each time that the target may have run. Runs before the kubelet
//! and needs no API server.

use std::process::ExitCode;

use host::journal::Store;
use host::{Error, boot, mounts, snapshot};
use upgrade::{Deployment, Phase, Upgrade, names};

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
    if !is_due(args, upgrade, booted) {
        return ExitCode::SUCCESS;
    }
    // Before it is begun: who is killed in it, by the power or because the unit's time is up, has not put it back.
    owe(args, upgrade, "it was begun and did not end");
    let done =
        snapshot::open(&args.places, &upgrade.id).and_then(|saved| saved.put_back(&args.places));
    match done {
        Ok(changed) => is_back(args, upgrade, changed),
        Err(error) => stays_owed(args, upgrade, &error),
    }
}

/// What could not be put back is due at each boot, also once its upgrade has failed and is over.
fn is_due(args: &Args, upgrade: &Upgrade, booted: &Deployment) -> bool {
    let places = &args.places;
    snapshot::why_owed(places, &upgrade.id).is_some()
        || (snapshot::is_wanted(upgrade, booted) && !snapshot::is_over(places, upgrade))
}

/// What the target writes now is not for the old system: there it is put back once more.
fn target_runs(args: &Args, upgrade: &Upgrade) -> ExitCode {
    let (places, id) = (&args.places, &upgrade.id);
    if !snapshot::is_noted(places, id) && snapshot::why_owed(places, id).is_none() {
        return ExitCode::SUCCESS;
    }
    let begun = writable(args).and_then(|()| snapshot::begin_anew(places, id));
    told(begun, "that the target runs could not be noted")
}

fn is_back(args: &Args, upgrade: &Upgrade, changed: usize) -> ExitCode {
    eprintln!(
        "careen-stage: the kubelet's state of before the trial is back; files changed: {changed}"
    );
    let noted = match upgrade.phase {
        // Late: the upgrade is over, and nobody else takes it away.
        Phase::Failed { .. } => snapshot::forget(&args.places, &upgrade.id),
        // The trial has not begun by the record, and may yet, without being armed or counted anew: a power cut can bring the one-shot back
        // that the loader had cleared for whoever picked this system in its menu.
        Phase::Armed { .. } => snapshot::begin_anew(&args.places, &upgrade.id),
        _ => snapshot::note(&args.places, upgrade),
    };
    told(noted, "that it was put back could not be noted")
}

/// The kubelet starts on what there is, and a person can do by hand what is said here.
fn stays_owed(args: &Args, upgrade: &Upgrade, error: &Error) -> ExitCode {
    owe(args, upgrade, &error.to_string());
    let folder = args.places.snapshot(&upgrade.id);
    failed(&format!(
        "the kubelet's state of before the trial could not be put back: {error}. It is kept in {} and tried again at the next boot; \
         to do so at once, mend what is said here, stop the kubelet, run `systemctl start {}`, and start the kubelet",
        folder.display(),
        names::RESTORE_UNIT
    ))
}

fn owe(args: &Args, upgrade: &Upgrade, why: &str) {
    let noted = writable(args).and_then(|()| snapshot::owe(&args.places, &upgrade.id, why));
    // The kubelet's state matters more than the note.
    told(noted, "that it is to be put back could not be noted");
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
