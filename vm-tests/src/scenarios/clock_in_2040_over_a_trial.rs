//! The machine's clock is at 2040 from the trial's reboot on: to both systems the API server is away, none is judged bad for it, and with the
//! right time the upgrade goes on.

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
