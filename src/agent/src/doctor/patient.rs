//! What the doctor examines.

use std::path::PathBuf;

use host::Places;

use crate::limits::Measured;

/// The node that the doctor examines.
#[derive(Clone, Debug)]
pub struct Patient {
    /// Its folders.
    pub places: Places,
    /// The folder that holds `sys` and `proc`: `/` on a node.
    pub kernel: PathBuf,
    /// The kubelet's kubeconfig.
    pub kubeconfig: PathBuf,
    /// The policy file.
    pub policy: PathBuf,
    /// Its clock.
    pub clock: Clock,
    /// How long its boots and shutdowns take.
    pub measured: Measured,
}

/// The state of its clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Seconds since 1970.
    pub wall: u64,
    /// Whether a program synchronizes it, or `None` if the kernel does not say.
    pub in_step: Option<bool>,
}
