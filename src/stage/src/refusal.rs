//! The console message when the brain refuses a boot. It is often all that a person can see.

use host::record::Store;
use upgrade::{Observation, Phase, Reason};

use crate::args::Args;

/// Why this boot is refused, read back from the record after the decision.
pub fn of(args: &Args, seen: &Observation) -> String {
    match Store::new(&args.places.sysroot).read() {
        Err(reason) => format!("cannot read its record: {reason}"),
        Ok(record) => {
            let meant = record.upgrade.filter(|upgrade| {
                upgrade
                    .to
                    .as_ref()
                    .is_some_and(|to| to.same(&seen.machine.booted))
            });
            meant.map_or_else(
                || "no trial of this system was armed".to_owned(),
                |upgrade| by_phase(&upgrade.phase),
            )
        }
    }
}

fn by_phase(phase: &Phase) -> String {
    // Written by this decision, or by the previous one in this boot.
    if let Phase::Reverting { reason } = phase
        && matches!(reason, Reason::StageRefused { .. })
    {
        return reason.to_string();
    }
    if let Phase::Trial { boot } = phase {
        return format!(
            "this trial was already entered, in boot {boot}; each arming is for one boot"
        );
    }
    let name = phase.name();
    format!("no trial of this system is armed: its upgrade is at {name}")
}
