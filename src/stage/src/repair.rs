//! `repair`: writes manifests of static pods back that a power cut has taken while kubeadm raised
//! the control plane. It runs before the kubelet and needs no API server.

use std::process::ExitCode;

use host::Error;
use host::ledger::Ledger;

use crate::args::Args;

/// Repairs, if a raise is under way. It never fails the boot: the kubelet may start the static pods
/// that are there.
pub fn run(args: &Args) -> ExitCode {
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
    Ok(repairs.iter().all(|repair| repair.with.is_some()))
}
