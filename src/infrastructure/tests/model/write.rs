//! What leaders are at, and what they write.

use crate::objects::{Claim, Machine, Named};

/// A write that a leader is about to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Write {
    Finalizer(usize, bool),
    SetHost(usize, Named),
    ClearHost(usize, Option<usize>),
    Commit(usize),
    SetId(usize),
    Provisioned(usize),
    PutClaim(usize, Claim),
    Release(usize),
    GiveUp(usize),
    Copy(usize, Option<u8>),
    Tell(usize),
    RemoveClaim(usize, bool),
    Seen(usize, Option<u8>),
    Orphan(usize, u8),
}

/// What a leader is at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Leader {
    #[default]
    Idle,
    /// It has read a machine, which may have changed since.
    SawMachine {
        at: usize,
        was: Machine,
        stale: bool,
    },
    /// It has decided. The object of the write may have changed since it was read.
    Writes { write: Write, stale: bool },
}

impl Write {
    /// The machine that it changes.
    pub const fn machine(self) -> Option<usize> {
        match self {
            Self::Finalizer(at, _)
            | Self::SetHost(at, _)
            | Self::ClearHost(at, _)
            | Self::Commit(at)
            | Self::SetId(at)
            | Self::Provisioned(at) => Some(at),
            Self::PutClaim(..)
            | Self::Release(_)
            | Self::GiveUp(_)
            | Self::Copy(..)
            | Self::Tell(_)
            | Self::RemoveClaim(..)
            | Self::Seen(..)
            | Self::Orphan(..) => None,
        }
    }

    /// The host that it changes. Its Secret is an object of its own, and is read right before.
    pub const fn host(self) -> Option<usize> {
        match self {
            Self::PutClaim(at, _)
            | Self::Release(at)
            | Self::GiveUp(at)
            | Self::Tell(at)
            | Self::RemoveClaim(at, _)
            | Self::Seen(at, _)
            | Self::Orphan(at, _) => Some(at),
            Self::Copy(..)
            | Self::Finalizer(..)
            | Self::SetHost(..)
            | Self::ClearHost(..)
            | Self::Commit(_)
            | Self::SetId(_)
            | Self::Provisioned(_) => None,
        }
    }
}
