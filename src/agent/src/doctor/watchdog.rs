//! A hardware watchdog that guards a trial: recommended, and required if the policy says so.

use upgrade::Policy;

use super::finding::Finding;
use super::patient::Patient;
use crate::watchdog::Watchdog;

/// Whether one exists, and the kernel leaves it running when it reboots.
pub(super) fn watchdog(patient: &Patient, policy: &Policy) -> Finding {
    let found = Watchdog::look(&patient.kernel);
    if policy.require_watchdog {
        judge(found.as_ref(), Finding::bad)
    } else {
        judge(found.as_ref(), Finding::warn)
    }
}

fn judge(found: Option<&Watchdog>, lacks: fn(&'static str, String, &str) -> Finding) -> Finding {
    const NAME: &str = "watchdog";
    match found {
        None => {
            let fix = "load its driver, if the machine has one; without a watchdog a person must reset a trial whose kernel hangs";
            lacks(NAME, "none".to_owned(), fix)
        }
        Some(watchdog) if watchdog.guards() => Finding::ok(NAME, watchdog.to_string()),
        Some(watchdog) => {
            let fix = "boot with watchdog.stop_on_reboot=0, on hardware; only a hang in GRUB shows whether it keeps counting across a reset";
            lacks(NAME, watchdog.to_string(), fix)
        }
    }
}
