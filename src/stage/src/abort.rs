//! Ends a boot.

use std::process::ExitCode;
use std::time::Duration;

use host::loader::{self, Aim};
use host::{Places, mounts, power};
use upgrade::{OneShot, exit};

use crate::args::Args;

/// How long clearing the one-shot entry may take. On a failing disk, or after systemd has stopped
/// mounting, it never ends.
const DISARM: Duration = Duration::from_secs(10);

/// Reboots and does not return, unless a reboot is impossible.
pub fn reboot(args: &Args, why: &str) -> ExitCode {
    eprintln!("careen-stage: rebooting into the old system: {why}");
    disarm(args);
    if args.dry_run {
        return ExitCode::from(exit::WOULD_REBOOT);
    }
    let Places { boot, .. } = &args.places;
    let refused = power::force_reboot(boot, power::DEVICES);
    eprintln!("careen-stage: the reboot was refused: {refused}");
    ExitCode::FAILURE
}

/// Clears the one-shot entry that the loader left. The guard has cleared it if it sees /boot. A
/// separate /boot is mounted only in the real root, where the agent clears it, if the agent starts.
/// The reboot does not depend on it.
fn disarm(args: &Args) {
    let (places, mounted) = (args.places.clone(), !args.dry_run);
    let _ = power::in_time(DISARM, move || clear_one_shot(&places, mounted));
}

/// The same without a time limit. `mounted` says that /boot may have to be made writable first.
pub fn clear_one_shot(places: &Places, mounted: bool) {
    if loader::one_shot(places) != OneShot::Set {
        return;
    }
    if mounted {
        make_writable(places);
    }
    match loader::aim(places, Aim::Default) {
        Ok(()) => {
            eprintln!(
                "careen-stage: the boot loader did not clear its one-shot entry; it is cleared now"
            );
        }
        Err(error) => eprintln!(
            "careen-stage: cannot clear the one-shot entry that the boot loader left, so the trial may begin again: {error}. To end that, choose the old system in the boot menu and run `grub-editenv - unset next_entry` there"
        ),
    }
}

/// As for the agent: /boot may be mounted read-only, or may not be a mount. Only this thread sees
/// the change.
fn make_writable(places: &Places) {
    let writable = mounts::make_private().and_then(|()| mounts::make_writable(&places.boot));
    if let Err(error) = writable {
        eprintln!("careen-stage: {error}. Trying to clear the one-shot entry anyway");
    }
}
