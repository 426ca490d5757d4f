//! The machine's clock is at 1970 from the trial's reboot on, when no certificate is valid yet: to both systems the API server is away, none is
//! judged bad for it though its kubelet runs, and with the right time the upgrade goes on.

use super::prelude::*;
use crate::clock::{Wrong, wrong_over_a_trial};

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "clock-in-1970-over-a-trial",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(wrong_over_a_trial(rig, "v2", Wrong::Behind)),
};
