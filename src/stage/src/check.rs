//! `check`: checks the critical files that the initramfs left for later, before the kubelet and its
//! runtime start.

use std::process::ExitCode;

use host::critical::{CriticalFiles, Which};
use host::{boot, mounts};
use upgrade::Unsound;

use crate::args::Args;
use crate::{abort, guard, look, passed};

/// Lets the kubelet start, or reboots.
pub fn run(args: &Args) -> ExitCode {
    // The trial's kernel argument outlives the blessing until the next reboot, and a person may
    // isolate rescue.target and return from there.
    if !look::is_trial(args) || passed::has_passed(args) == Some(true) {
        return ExitCode::SUCCESS;
    }
    match check(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => abort::reboot(args, &why),
    }
}

fn check(args: &Args) -> Result<(), String> {
    let places = &args.places;
    let (deployment, folder) =
        boot::booted(&places.sysroot, &places.root).map_err(|error| error.to_string())?;
    let list =
        CriticalFiles::read(places, &deployment.digest).map_err(|error| error.to_string())?;
    let integrity = list
        .check(&folder, Which::Rest)
        .map_err(Unsound::of_the_disk);
    let Err(unsound) = &integrity else {
        return Ok(());
    };
    eprintln!("careen-stage: {}", unsound.detail);
    if !args.dry_run {
        // Only this place has something to write; /sysroot is read-only for everything else.
        let writable = mounts::make_private().and_then(|()| mounts::make_writable(&places.sysroot));
        writable.map_err(|error| error.to_string())?;
    }
    guard::judge(args, &deployment, &integrity)
}
