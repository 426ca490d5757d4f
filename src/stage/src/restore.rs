//! `restore`: restores the kubelet's state in the old system, once after each time that the target
//! may have run. It runs before the kubelet and needs no API server.

use std::process::ExitCode;

use host::record::Store;
use host::snapshot::Owed;
use host::{Error, boot, mounts, os, snapshot};
use upgrade::phase::Class;
use upgrade::{BootId, Deployment, Phase, Upgrade, UpgradeId, names};

use crate::args::Args;

/// Restores if a trial may have written, and whatever this system is owed. It never fails the boot:
/// the kubelet may start with the state that is there.
pub fn run(args: &Args) -> ExitCode {
    let places = &args.places;
    let booted = match boot::booted(&places.sysroot, &places.root) {
        Ok((booted, _)) => booted,
        Err(error) => return code(not_now(args, &error)),
    };
    let read = Store::new(&places.sysroot).read();
    let upgrade = read.as_ref().ok().and_then(|read| read.upgrade.as_ref());
    let of_the_record = match (&read, upgrade) {
        (Err(reason), _) => failed(&format!("cannot restore by the record: {reason}")),
        (Ok(_), Some(upgrade)) if is_kept(args, &upgrade.id) => by(args, upgrade, &booted),
        (Ok(_), _) => true,
    };
    // After the record's own: what earlier upgrades owe is older, and what the record's upgrade
    // saved may be the state that such a trial left.
    let of_others = others(args, upgrade.map(|upgrade| &upgrade.id), &booted);
    code(of_the_record && of_others)
}

/// The running system is unknown now, but may be known when the agent looks, which would end the
/// upgrade. The restore stays owed until then.
fn not_now(args: &Args, error: &Error) -> bool {
    let read = Store::new(&args.places.sysroot).read();
    let upgrade = read.ok().and_then(|read| read.upgrade);
    let due = |up: &Upgrade| is_kept(args, &up.id) && is_due(args, up, &up.from);
    if let Some(up) = upgrade.filter(due) {
        owe(args, &up.id, Some(&up.from), &error.to_string());
    }
    failed(&format!("restores nothing: {error}"))
}

/// Restores what upgrades that are no longer in the record owe to this system.
fn others(args: &Args, current: Option<&UpgradeId>, booted: &Deployment) -> bool {
    let all = match snapshot::all_owed(&args.places) {
        Ok(all) => all,
        Err(error) => return failed(&format!("cannot read what must be restored: {error}")),
    };
    let of_others = all.iter().filter(|(id, _)| Some(id) != current);
    let mine = of_others.filter(|(_, owed)| owed.to.as_ref().is_some_and(|to| to.same(booted)));
    mine.fold(true, |well, (id, owed)| late(args, id, owed) && well)
}

/// Restores what another upgrade owes, once. Nobody else removes it.
fn late(args: &Args, id: &UpgradeId, owed: &Owed) -> bool {
    match put_back(args, id) {
        Ok(changed) => is_back(
            changed,
            writable(args).and_then(|()| snapshot::forget(&args.places, id)),
        ),
        Err(error) => stays_owed(args, id, owed.to.as_ref(), &error),
    }
}

/// Whether there is, or should be, something to restore. If what is owed is damaged, every boot
/// reports that.
fn is_kept(args: &Args, id: &UpgradeId) -> bool {
    snapshot::exists(&args.places, id) || snapshot::owed(&args.places, id).is_some()
}

fn by(args: &Args, upgrade: &Upgrade, booted: &Deployment) -> bool {
    if upgrade.to.as_ref().is_some_and(|to| to.same(booted)) {
        return target_runs(args, upgrade);
    }
    if !is_due(args, upgrade, booted) {
        return true;
    }
    let (id, to) = (&upgrade.id, Some(&upgrade.from));
    // Noted before the start: if the process is killed, by a power cut or the unit's timeout, the
    // restore did not happen.
    owe(args, id, to, "it began and did not end");
    match put_back(args, id) {
        Ok(changed) => is_back(changed, no_more_due(args, upgrade)),
        Err(error) => stays_owed(args, id, to, &error),
    }
}

/// A failed restore is due at each boot, even after its upgrade has failed and is over.
fn is_due(args: &Args, upgrade: &Upgrade, booted: &Deployment) -> bool {
    let places = &args.places;
    let owed = snapshot::owed(places, &upgrade.id);
    owed.is_some_and(|owed| owed.to.is_none_or(|to| to.same(booted)))
        || (snapshot::is_wanted(upgrade, booted) && !is_over(args, upgrade))
}

fn is_over(args: &Args, upgrade: &Upgrade) -> bool {
    snapshot::is_over(&args.places, upgrade, this_boot(args).ok().as_ref())
}

fn this_boot(args: &Args) -> host::Result<BootId> {
    os::boot_id(&args.boot_id)
}

fn put_back(args: &Args, id: &UpgradeId) -> host::Result<usize> {
    snapshot::open(&args.places, id)?.put_back(&args.places)
}

/// The target now writes state that the old system must not use, so the old system restores once
/// more. What a finished upgrade owes stays owed, because only that note causes its restore.
fn target_runs(args: &Args, upgrade: &Upgrade) -> bool {
    let (places, id) = (&args.places, &upgrade.id);
    // In every case: a mark that was written while a trial was armed would be taken for that
    // trial's later.
    let is_marked = snapshot::is_noted(places, id) || snapshot::owed(places, id).is_some();
    if !is_marked || matches!(upgrade.phase, Phase::Failed { .. }) {
        return true;
    }
    let begun = writable(args).and_then(|()| snapshot::restore_again(places, id));
    told(begun, "cannot note that the new system runs")
}

fn is_back(changed: usize, noted: host::Result<()>) -> bool {
    eprintln!(
        "careen-stage: the kubelet's state from before the trial is restored; files changed: {changed}"
    );
    told(noted, "cannot note that it is restored")
}

fn no_more_due(args: &Args, upgrade: &Upgrade) -> host::Result<()> {
    match upgrade.phase.class() {
        // Late: the upgrade is over, and nothing else removes the snapshot.
        Class::Failed { .. } => snapshot::forget(&args.places, &upgrade.id),
        Class::Trying { .. } if matches!(upgrade.phase, Phase::Armed { .. }) => {
            snapshot::note_armed(&args.places, &upgrade.id, &this_boot(args)?)
        }
        Class::Preparing
        | Class::Trying { .. }
        | Class::Blessed
        | Class::Reverting { .. }
        | Class::Upgraded
        | Class::Halted { .. } => snapshot::note(&args.places, upgrade),
    }
}

/// The kubelet starts with the state that is there, and the message tells a person what to do by
/// hand.
fn stays_owed(args: &Args, id: &UpgradeId, to: Option<&Deployment>, error: &Error) -> bool {
    owe(args, id, to, &error.to_string());
    let folder = args.places.snapshot(id);
    failed(&format!(
        "cannot restore the kubelet's state from before the trial: {error}. It is kept in {}, and the next boot tries again. To restore it now, fix the cause, drain the node, stop the kubelet, run `systemctl start {}`, and start the kubelet",
        folder.display(),
        names::RESTORE_UNIT
    ))
}

fn owe(args: &Args, id: &UpgradeId, to: Option<&Deployment>, why: &str) {
    let owed = Owed {
        why: why.to_owned(),
        to: to.cloned(),
    };
    let noted = writable(args).and_then(|()| snapshot::owe(&args.places, id, &owed));
    // The kubelet's state is more important than the note.
    told(noted, "cannot note that it must be restored");
}

/// /sysroot is read-only for everything else.
fn writable(args: &Args) -> host::Result<()> {
    if args.dry_run {
        return Ok(());
    }
    mounts::make_private()?;
    mounts::make_writable(&args.places.sysroot)
}

/// Whether it succeeded. Prints a failure.
fn told(done: host::Result<()>, what: &str) -> bool {
    match done {
        Ok(()) => true,
        Err(error) => failed(&format!("{what}: {error}")),
    }
}

fn failed(why: &str) -> bool {
    eprintln!("careen-stage: {why}");
    false
}

const fn code(well: bool) -> ExitCode {
    if well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
