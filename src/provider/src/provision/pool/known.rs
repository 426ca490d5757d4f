//! What a look at a pool knows.

use super::super::wire;
use crate::kinds::{CareenMachine, CareenMachinePool};

/// Everything that one decision is based on, read from the API server.
pub(super) struct Read {
    pub(super) object: CareenMachinePool,
    pub(super) owner: Option<wire::MachinePool>,
    pub(super) cluster: Option<wire::Cluster>,
    pub(super) ours: Vec<CareenMachine>,
    pub(super) machines: Vec<wire::Machine>,
}

/// What a member should run.
pub(super) struct Wanted {
    pub(super) version: String,
    pub(super) image: Result<String, String>,
}
