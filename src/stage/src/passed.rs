//! Whether the system that runs has passed its trial: the one rule for all who would end or hold back a trial.

use host::boot;
use host::journal::Store;
use upgrade::{Home, Observation, deadman};

use crate::args::Args;
use crate::{look, mark};

/// The running system as far as this boot shows it; nothing where it cannot even say what it is.
pub fn running(args: &Args) -> Option<Observation> {
    let (booted, _) = boot::booted(&args.places.sysroot, &args.places.root).ok()?;
    let seen = look::observe(args, booted, None).ok()?;
    Some(seen.with(|seen| seen.turn.home = Home::Agent))
}

/// Whether it has passed; nothing where it cannot even say what it is.
pub fn has_passed(args: &Args) -> Option<bool> {
    if mark::is_left(args) {
        return Some(true);
    }
    let seen = running(args)?;
    let read = Store::new(&args.places.sysroot).read();
    // The record speaks of the latest upgrade. The argument of a trial outlives the blessing until the next reboot, and a
    // further upgrade may be in the record by then: what is the default is no trial, whatever is written there.
    Some(!seen.machine.on_trial() || deadman::is_proven(&seen, &read))
}
