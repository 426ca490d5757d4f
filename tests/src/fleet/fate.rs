//! What happens to a host, all of it out of one seed: how long things take, and what goes wrong for once.

use std::time::Duration;

use fastrand::Rng;

/// One host's fate. Every misfortune here is one that an upgrade must survive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// How long a step on the disk takes.
    pub step: Duration,
    /// How long the host is away at a reboot.
    pub boot: Duration,
    /// How many of the first fetches find the remote away.
    pub remote_away: u32,
    /// Whether the first trial loses power.
    pub loses_power: bool,
    /// Whether the agent is killed once, while the new system is written.
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

    /// Everything goes well, and fast.
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
