//! `repair`: writes back manifests of static pods, certificates and kubeconfigs that a power cut
//! has taken while kubeadm raised the control plane. It runs before the kubelet and needs no API
//! server.

use std::fs::{File, TryLockError};
use std::process::ExitCode;

use host::Error;
use host::ledger::Ledger;
use upgrade::names;

use crate::args::Args;

/// Repairs, if a raise is under way and nothing continues it now. It never fails the boot: the
/// kubelet may start the static pods that are there.
pub fn run(args: &Args) -> ExitCode {
    // Locked until the end, so that no raise begins meanwhile. There is a file if one has begun in
    // this boot.
    let name = names::CONTROL_LOCK.trim_start_matches("/run/");
    let lock = File::open(args.run.join(name)).ok();
    if lock.as_ref().is_some_and(is_held) {
        eprintln!("careen-stage: a raise runs now and repairs manifests itself");
        return ExitCode::SUCCESS;
    }
    match repaired(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("careen-stage: cannot repair the manifests: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether each manifest is there.
fn repaired(args: &Args) -> Result<bool, Error> {
    let Some((ledger, _)) = Ledger::under_way(&args.places)? else {
        return Ok(true);
    };
    let repairs = match args.dry_run {
        true => ledger.repairs()?,
        false => ledger.repair()?,
    };
    for repair in &repairs {
        eprintln!("careen-stage: {repair}");
    }
    let credentials = match args.dry_run {
        true => ledger.damaged_credentials()?,
        false => ledger.put_credentials_back()?,
    };
    for names in &credentials {
        eprintln!(
            "careen-stage: {names} is damaged; the copy from before kubeadm ran takes its place"
        );
    }
    Ok(repairs.iter().all(|repair| repair.with.is_some()))
}

/// Whether a raise or its kubeadm, which moves manifests itself, has the lock. Otherwise it is ours.
fn is_held(lock: &File) -> bool {
    matches!(lock.try_lock(), Err(TryLockError::WouldBlock))
}
