//! `guard`: whether the system that is about to be entered is permitted. It runs before
//! ostree-prepare-root.

use std::path::Path;
use std::process::ExitCode;

use host::critical::{CriticalFiles, Which};
use host::loader::{self, Aim};
use host::mounts::Writable;
use host::record::{Store, StoreError};
use host::{Places, kernel};
use upgrade::decide::decide;
use upgrade::step::StageStep;
use upgrade::{Act, Deployment, Observation, Policy, Record, RecordStore, Unsound};

use crate::args::Args;
use crate::{abort, look, refusal};

/// The maximum of passes of observe, decide, store, perform: one to disarm, one to judge, and one
/// spare.
const PASSES: u32 = 3;

/// Lets the boot continue, or reboots.
pub fn run(args: &Args) -> ExitCode {
    if !look::is_trial(args) {
        return ExitCode::SUCCESS;
    }
    let judged = look::meant(args)
        .map_err(|error| error.to_string())
        .and_then(|(deployment, folder)| {
            let integrity = check(&args.places, &deployment, &folder).map_err(Unsound::of_the_disk);
            if let Err(unsound) = &integrity {
                eprintln!("careen-stage: {}", unsound.detail);
            }
            judge(args, &deployment, &integrity)
        });
    match judged {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => abort::reboot(args, &why),
    }
}

/// Asks the brain, records the decision and carries it out.
///
/// # Errors
/// Why this boot must end.
pub fn judge(
    args: &Args,
    deployment: &Deployment,
    integrity: &Result<(), Unsound>,
) -> Result<(), String> {
    for _ in 0..PASSES {
        let seen = look::observe(args, deployment.clone(), Some(integrity.clone()))
            .map_err(|error| error.to_string())?;
        let act = next(args, &seen)?;
        match act.in_the_stage() {
            Some(StageStep::Pass) => return Ok(()),
            Some(StageStep::Disarm) => disarm(args)?,
            Some(StageStep::Reboot) => return Err(refusal::of(args, &seen)),
            None => return Err(format!("no act for an initramfs: {act:?}")),
        }
    }
    Err("cannot clear the one-shot entry".to_owned())
}

fn next(args: &Args, seen: &Observation) -> Result<Act, String> {
    let mut store = Remounting {
        store: Store::new(&args.places.sysroot),
        sysroot: &args.places.sysroot,
    };
    let read = store.store.read();
    if let Err(reason) = &read {
        eprintln!("careen-stage: {reason}");
    }
    let decision = decide(seen, &read, &Ok(Policy::default()));
    decision
        .commit(&mut store)
        .map(|(_, act)| act)
        .map_err(|error| error.to_string())
}

/// Clears the one-shot entry that the loader left. The initramfs sees /boot only on the physical
/// root.
fn disarm(args: &Args) -> Result<(), String> {
    let _writable = Writable::make(&args.places.sysroot).map_err(|error| error.to_string())?;
    loader::aim(&args.places, Aim::Default).map_err(|error| error.to_string())
}

/// Checks that the critical files are unchanged since they were deployed.
fn check(places: &Places, deployment: &Deployment, folder: &Path) -> Result<(), String> {
    kernel::check(places, folder, &deployment.stateroot, &deployment.bootcsum)?;
    let list =
        CriticalFiles::read(places, &deployment.digest).map_err(|error| error.to_string())?;
    if list.bootcsum != deployment.bootcsum {
        return Err(format!(
            "the boot entry names kernel {} instead of {}",
            deployment.bootcsum, list.bootcsum
        ));
    }
    list.check(folder, Which::Boot)
}

/// The record on a root that is mounted read-only. It is made writable only for the duration of a
/// write.
pub struct Remounting<'a> {
    /// The record.
    pub store: Store,
    /// The mount point of its file system.
    pub sysroot: &'a Path,
}

impl RecordStore for Remounting<'_> {
    type Error = StoreError;

    fn store(&mut self, record: &Record) -> Result<(), StoreError> {
        let _writable = Writable::make(self.sysroot)?;
        self.store.store(record)
    }
}
