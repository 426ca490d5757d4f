//! What happens to a host, all of it derived from one seed: how long steps take, and which faults
//! occur once.

use std::time::Duration;

use fastrand::Rng;

/// The fate of one host. An upgrade must survive every fault here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// How long a step on the disk takes.
    pub step: Duration,
    /// How long the host is away at a reboot.
    pub boot: Duration,
    /// How many of the first fetches find the remote unavailable.
    pub remote_away: u32,
    /// Whether the first trial loses power.
    pub loses_power: bool,
    /// Whether the agent is killed once during the write of the new system.
    pub agent_dies: bool,
}

impl Fate {
    /// The fate of the next host.
    #[must_use]
    pub fn of(dice: &mut Rng) -> Self {
        Self {
            step: Duration::from_millis(dice.u64(20..300)),
            boot: Duration::from_millis(dice.u64(200..1500)),
            remote_away: u32::from(dice.u8(0..4) == 0),
            loses_power: dice.u8(0..8) == 0,
            agent_dies: dice.u8(0..6) == 0,
        }
    }

    /// Everything succeeds, and fast.
    #[must_use]
    pub const fn kind() -> Self {
        Self {
            step: Duration::ZERO,
            boot: Duration::from_millis(500),
            remote_away: 0,
            loses_power: false,
            agent_dies: false,
        }
    }
}
