//! `verify`: whether the prepared root is the intended one. It runs after ostree-prepare-root,
//! which systemd has been seen to drop from the boot (fedora-coreos-tracker issue 1527). In that
//! case the boot would enter the physical root.

use std::process::ExitCode;

use host::{Places, boot};
use upgrade::Unsound;

use crate::args::Args;
use crate::{abort, guard, look};

/// Lets the boot continue, or reboots.
pub fn run(args: &Args) -> ExitCode {
    if !look::is_trial(args) {
        return ExitCode::SUCCESS;
    }
    let args = unprepared(args);
    let found = check(&args).map_err(Unsound::of_the_initramfs);
    // If the link of the selected entry is broken, its system has no name, so the verdict cannot be
    // recorded.
    let written = look::meant(&args)
        .map_err(|error| error.to_string())
        .and_then(|(deployment, _)| guard::judge(&args, &deployment, &found));
    match found.map_err(|unsound| unsound.detail).and(written) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => abort::reboot(&args, &why),
    }
}

/// If nothing was prepared, the physical root is still where the guard saw it.
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
