//! Whether the running system has passed its trial: the one rule for everything that ends or delays
//! a trial.

use host::boot;
use host::record::Store;
use upgrade::{Home, Observation, deadman};

use crate::args::Args;
use crate::{look, mark};

/// The running system as this boot shows it; nothing if it cannot be identified.
pub fn running(args: &Args) -> Option<Observation> {
    let (booted, _) = boot::booted(&args.places.sysroot, &args.places.root).ok()?;
    let seen = look::observe(args, booted, None).ok()?;
    Some(seen.with(|seen| seen.turn.home = Home::Agent))
}

/// Whether it has passed; nothing if it cannot be identified.
pub fn has_passed(args: &Args) -> Option<bool> {
    if mark::is_left(args) {
        return Some(true);
    }
    let seen = running(args)?;
    let read = Store::new(&args.places.sysroot).read();
    // The record describes the latest upgrade. The trial's kernel argument outlives the blessing
    // until the next reboot, and by then the record may describe another upgrade. The default
    // system is not on trial, whatever the record says.
    Some(!seen.machine.on_trial() || deadman::is_proven(&seen, &read))
}
