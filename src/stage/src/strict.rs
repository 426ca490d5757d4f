//! Ending a boot.

use std::process::ExitCode;
use std::time::Duration;

use host::{Places, grubenv, mounts, power};
use upgrade::{OneShot, exit};

use crate::args::Args;

/// How long clearing the one-shot entry may take: on a dying disk, or behind a systemd that mounts nothing any more, it never ends.
const DISARM: Duration = Duration::from_secs(10);

/// Reboots and does not come back, except where that is impossible.
pub fn reboot(args: &Args, why: &str) -> ExitCode {
    eprintln!("careen-stage: rebooting into the old system: {why}");
    disarm(args);
    if args.dry_run {
        return ExitCode::from(exit::WOULD_REBOOT);
    }
    let Places { boot, .. } = &args.places;
    let refused = power::force_reboot(boot, power::DEVICES);
    eprintln!("careen-stage: reboot refused: {refused}");
    ExitCode::FAILURE
}

/// Clears what the loader left. The guard did it where it sees grubenv; a /boot of its own is mounted in the real root alone, and there the
/// agent does it, which may never have come up. The reboot does not depend on it.
fn disarm(args: &Args) {
    let (places, mounted) = (args.places.clone(), !args.dry_run);
    let _ = power::in_time(DISARM, move || clear_one_shot(&places, mounted));
}

/// As before a reboot, for as long as it takes. `mounted` where /boot may have to be made writable for it.
pub fn clear_one_shot(places: &Places, mounted: bool) {
    if grubenv::one_shot(&places.grubenv()) != OneShot::Set {
        return;
    }
    if mounted {
        make_writable(places);
    }
    match grubenv::write_next_entry(&places.grubenv(), None) {
        Ok(()) => {
            eprintln!(
                "careen-stage: the loader had not cleared its one-shot entry; it is cleared now"
            );
        }
        Err(error) => eprintln!(
            "careen-stage: the one-shot entry that the loader had not cleared stays, and the trial may begin again: {error}. \
             To end that, choose the old system in the boot menu and run `grub-editenv - unset next_entry` there"
        ),
    }
}

/// As for the agent: /boot may be mounted read-only, or no mount at all. The thread's own mounts go with it.
fn make_writable(places: &Places) {
    let writable = mounts::make_private().and_then(|()| mounts::make_writable(&places.boot));
    if let Err(error) = writable {
        eprintln!(
            "careen-stage: {error}; the one-shot entry is cleared all the same if that works"
        );
    }
}
