//! What the machine is now.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use agent::access::{Local, RunningPod};
use upgrade::{Deployment, OneShot, Reason};

use super::fault::Fault;

/// The systems, the boot loader, and the faults that a test has set.
pub(super) struct State {
    pub(super) boots: u32,
    pub(super) booted: Deployment,
    pub(super) trial: bool,
    pub(super) deployments: Vec<Deployment>,
    pub(super) one_shot: OneShot,
    pub(super) loader: Result<(), Reason>,
    pub(super) restored: Result<(), Reason>,
    pub(super) unseen: Option<String>,
    pub(super) faults: HashMap<&'static str, Fault>,
    pub(super) local: Local,
    pub(super) running: Vec<RunningPod>,
    /// The start of this boot by the clock of this process, and the time that a test has added
    /// since.
    pub(super) since: Instant,
    pub(super) added: Duration,
}
