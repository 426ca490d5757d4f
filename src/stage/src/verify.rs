//! `verify`: whether the root that was prepared is the one that was meant. Runs after ostree-prepare-root, which systemd has
//! been seen to drop from the boot (fedora-coreos-tracker issue 1527): then the physical root would be entered.

use std::process::ExitCode;

use host::{Places, boot};

use crate::args::Args;
use crate::{guard, look, strict};

/// Lets the boot go on, or reboots.
pub fn run(args: &Args) -> ExitCode {
    if !look::is_trial(args) {
        return ExitCode::SUCCESS;
    }
    let args = unprepared(args);
    let found = check(&args);
    // What the loader meant has no name when its link is broken; then there is nobody to put the verdict on.
    let written = look::meant(&args)
        .map_err(|error| error.to_string())
        .and_then(|(deployment, _)| guard::judge(&args, &deployment, &found));
    match found.and(written) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => strict::reboot(&args, &why),
    }
}

/// Where nothing was prepared, the physical root is still where the guard saw it.
fn unprepared(args: &Args) -> Args {
    let mut args = args.clone();
    if !args.places.sysroot.join("ostree").is_dir()
        && args.places.root.join("ostree/deploy").is_dir()
    {
        args.places = Places {
            root: args.places.root.clone(),
            ..Places::physical(&args.places.root)
        };
    }
    args
}

fn check(args: &Args) -> Result<(), String> {
    let marker = args.run.join("ostree-booted");
    if !marker.exists() {
        return Err(format!(
            "ostree-prepare-root did not run: {} is missing",
            marker.display()
        ));
    }
    let root = &args.places.root;
    if !root.join("usr").is_dir() {
        return Err(format!("the new root {} does not have usr", root.display()));
    }
    let (meant, _) = look::meant(args).map_err(|error| error.to_string())?;
    let (runs, _) = boot::booted(&args.places.sysroot, root).map_err(|error| error.to_string())?;
    if meant.same(&runs) {
        return Ok(());
    }
    Err(format!(
        "the new root is {}.{} instead of {}.{}",
        runs.digest, runs.serial, meant.digest, meant.serial
    ))
}
