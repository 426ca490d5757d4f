//! The machine's clock is in 1970 from the trial's reboot on, when no certificate is valid yet.
//! Both systems see the API server as away. Neither is judged bad for it, although its kubelet
//! runs. With the right time the upgrade continues.

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
