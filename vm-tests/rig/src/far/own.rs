//! The host's part of a control plane that is on the node itself.

use super::host::Far;

/// The far programs, and the ways into the guest.
#[derive(Debug)]
pub struct Own {
    /// The programs.
    pub far: Far,
    /// Ports of this machine, and the ports of the guest to which they lead in each boot.
    pub ways: Vec<(u16, u16)>,
}
