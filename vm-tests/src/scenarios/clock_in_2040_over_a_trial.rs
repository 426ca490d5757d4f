//! The machine's clock is in 2040 from the trial's reboot on. Both systems see the API server as
//! away, and neither is judged bad for it. With the right time the upgrade continues.

use super::prelude::*;
use crate::clock::{Wrong, wrong_over_a_trial};

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "clock-in-2040-over-a-trial",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(wrong_over_a_trial(rig, "v2", Wrong::Ahead)),
};
