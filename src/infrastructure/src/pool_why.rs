//! Why a pool waits. Each reason has a type, a stable word and one text.

use thiserror::Error;

/// Why nothing is done now.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
// The message names each field.
#[allow(missing_docs)]
pub enum PoolWhy {
    /// It has no MachinePool.
    #[error(
        "no MachinePool owns this CareenMachinePool yet. No action is needed, unless nothing creates one."
    )]
    NoOwner,
    /// It is paused.
    #[error("{what} is paused. Remove the pause to continue.")]
    Paused { what: String },
    /// A person has paused a machine of it.
    #[error(
        "{what} is paused, so its machine is neither upgraded nor removed. Remove the pause to continue."
    )]
    MachinePaused { what: String },
    /// The others are done.
    #[error(
        "{machines} machines are left out of the upgrades, and all others run the wanted image. Remove careen.dev/leave-out from their Machines to upgrade them."
    )]
    LeftOut { machines: usize },
    /// Its machines are about to go.
    #[error("{left} machines are about to go. No action is needed, unless a drain does not end.")]
    Leaving { left: usize },
    /// It is gone.
    #[error("the pool is gone. No action is needed.")]
    Gone,
    /// An upgrade failed.
    #[error(
        "machine {name} failed to upgrade, so no other machine is upgraded: {detail}. Correct the image, or annotate Machine {name} with a new value of careen.dev/retry."
    )]
    UpgradeFailed { name: String, detail: String },
    /// No image is known.
    #[error(
        "the image of the machines is not known: {detail}. Set osImage in the template of the CareenMachinePool, or correct the ImageCatalogue."
    )]
    NoImage { detail: String },
    /// As many machines are unavailable as may be.
    #[error(
        "{away} machines are unavailable{first}, and {allowed} may be, so the next upgrade waits. Look at the Machines that are not Ready if none is upgraded."
    )]
    Unavailable {
        away: usize,
        allowed: usize,
        first: String,
    },
    /// The last machines are being upgraded.
    #[error("{machines} machines are being upgraded{first}. No action is needed.")]
    Upgrading { machines: usize, first: String },
    /// Machines are not nodes yet.
    #[error(
        "{nodes} of {wanted} machines are nodes{first}. Look at the CareenMachines that are not Ready."
    )]
    Joining {
        nodes: usize,
        wanted: usize,
        first: String,
    },
    /// Nothing is left to do.
    #[error("all machines run the wanted image. No action is needed.")]
    Settled,
}

life::codes! { PoolWhy::code:
    NoOwner Paused MachinePaused LeftOut Leaving Gone UpgradeFailed NoImage Unavailable Upgrading Joining Settled
}

impl PoolWhy {
    /// Whether it is worth an Event: an upgrade does not continue, and a person may want to know
    /// why.
    #[must_use]
    pub const fn holds(&self) -> bool {
        match self {
            Self::UpgradeFailed { .. }
            | Self::NoImage { .. }
            | Self::Unavailable { .. }
            | Self::MachinePaused { .. } => true,
            Self::NoOwner
            | Self::Paused { .. }
            | Self::LeftOut { .. }
            | Self::Leaving { .. }
            | Self::Gone
            | Self::Upgrading { .. }
            | Self::Joining { .. }
            | Self::Settled => false,
        }
    }
}
