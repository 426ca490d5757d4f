//! The machine's clock is in 2040 from the trial's reboot on, when every certificate has expired.
//! In the old system after it the clock is in 1970, when no certificate is valid yet. Both systems
//! see the API server as away, and neither is judged bad for it. With the right time the upgrade
//! continues.

mod clock;

use clock::wrong_over_a_trial;

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "clock-wrong-over-a-trial",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(wrong_over_a_trial(rig)),
};
