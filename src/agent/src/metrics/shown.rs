//! What the metrics are made from.

use upgrade::decide::RecordRead;
use upgrade::{Observation, PolicyRead};

/// The inputs of all metrics.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The record.
    pub read: RecordRead,
    /// The machine and the current step.
    pub seen: Observation,
    /// What the API server says, or `None` in a program that does not ask it.
    pub link: Option<Linked>,
    /// The policy file as last read.
    pub policy: PolicyRead,
    /// Whether the loop is stuck: it has not looked since, or failed to store its decision.
    pub trouble: bool,
    /// Room on the disk.
    pub disk: Disk,
}

/// What is known of the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linked {
    /// Whether the agent reaches it.
    pub reached: bool,
    /// Whether no new upgrade may begin.
    pub paused: bool,
}

/// Room on the disk, in bytes, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// Free on the physical root.
    pub root_free: Option<u64>,
    /// Free on /boot.
    pub boot_free: Option<u64>,
    /// The size of the running system's kernel and initramfs on /boot.
    pub boot_kernel: Option<u64>,
}
