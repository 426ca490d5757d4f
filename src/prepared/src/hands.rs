//! What the loop does on a machine beside the effects: runs in units of their own, and the boot.

use life::ClaimId;
use upgrade::{BootId, SinceBoot};

use crate::machine::Machine;

/// The machine as the loop sees it. A run is found again by the name of its unit.
pub trait Hands: Machine {
    /// The id of this boot.
    fn boot(&self) -> BootId;
    /// The time in this boot.
    fn now(&self) -> SinceBoot;
    /// Starts the run of the bootstrap data in a unit.
    fn start_join(&mut self, claim: &ClaimId);
    /// Whether that unit runs. One that cannot be asked for counts as running.
    fn joins(&self, claim: &ClaimId) -> bool;
    /// Starts a cleaning in a unit.
    fn start_clean(&mut self, claim: &ClaimId);
    /// For how many seconds that unit runs.
    fn cleans(&self, claim: &ClaimId) -> Option<u64>;
    /// Ends that unit.
    fn end_clean(&mut self, claim: &ClaimId);
    /// Reboots the machine.
    fn reboot(&mut self);
}
