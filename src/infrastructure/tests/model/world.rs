//! The state: the objects of the API server, the real hosts, and the leaders that work at once.
//!
//! There are no resource versions. A write knows instead whether its object has changed since it was
//! read: that is all a server compares, and it keeps the number of states finite.

use infrastructure::Phase;

use crate::mutant::Mutant;

/// The most hosts, machines and leaders.
pub const MOST: usize = 2;

/// The most claims of a machine.
pub const CLAIMS: u8 = 4;

/// What is explored.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub hosts: usize,
    pub machines: usize,
    pub leaders: usize,
    /// How many claims each machine makes, at most [`CLAIMS`].
    pub claims: u8,
    /// Machines are deleted.
    pub deletes: bool,
    /// How many misfortunes happen.
    pub faults: u8,
    /// A backup of the API server is restored. It is one misfortune.
    pub restores: bool,
    /// Orphans are released without a person.
    pub release_orphans: bool,
    pub mutant: Option<Mutant>,
}

/// The host of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Named {
    pub host: usize,
    pub claim: u8,
    pub committed: bool,
}

/// A CareenMachine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Machine {
    pub exists: bool,
    pub deleting: bool,
    pub finalizer: bool,
    pub named: Option<Named>,
    pub has_id: bool,
    pub provisioned: bool,
    /// The hosts that failed it, as bits.
    pub tried: u8,
}

/// A claim on a CareenHost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Claim {
    pub id: u8,
    pub machine: usize,
    pub released: bool,
    pub told: bool,
    pub lost: bool,
}

/// A CareenHost, and its Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    pub claim: Option<Claim>,
    pub phase: Phase,
    pub observed: Option<u8>,
    pub asks: bool,
    pub cordoned: bool,
    pub seen: Option<u8>,
    pub named: Option<u8>,
    pub secret: Option<u8>,
}

/// What the API server holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Objects {
    pub machines: [Machine; MOST],
    pub hosts: [Host; MOST],
}

/// How far a real host is with its claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    Imaging,
    Ready,
    /// It has read that the data are there, and runs them next.
    Told,
    Joined,
    Fenced,
    /// It failed before, or after, it used the data.
    Failed {
        used: bool,
    },
}

/// A real host. Its record survives everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Real {
    pub stay: Option<(u8, Stage)>,
    /// The claims that have ended here, as bits.
    pub ended: u8,
    /// The claim whose kubelet can run.
    pub kubelet: Option<u8>,
    pub dirty: bool,
    /// It is off, or its network is.
    pub away: bool,
}

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

/// Everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub objects: Objects,
    pub backup: Option<Objects>,
    pub real: [Real; MOST],
    pub leaders: [Leader; MOST],
    /// The number of claims of each machine so far. No id comes twice, not even after a restore.
    pub claims: [u8; MOST],
    pub faults: u8,
    pub restored: bool,
    /// For the promises: the host that was told of data for each machine.
    pub told: [Option<usize>; MOST],
}

impl State {
    pub fn new(setup: &Setup) -> Self {
        let host = Host {
            claim: None,
            phase: Phase::Available,
            observed: None,
            asks: false,
            cordoned: false,
            seen: None,
            named: None,
            secret: None,
        };
        let machine = |at: usize| Machine {
            exists: at < setup.machines,
            ..Machine::default()
        };
        Self {
            objects: Objects {
                machines: [machine(0), machine(1)],
                hosts: [host; MOST],
            },
            backup: None,
            real: [Real::default(); MOST],
            leaders: [Leader::Idle; MOST],
            claims: [0; MOST],
            faults: setup.faults,
            restored: false,
            told: [None; MOST],
        }
    }

    /// A machine has changed: what was read of it is old.
    pub fn touch_machine(&mut self, changed: usize) {
        for leader in &mut self.leaders {
            match leader {
                Leader::SawMachine { at, stale, .. } if *at == changed => *stale = true,
                Leader::Writes { write, stale } if write.machine() == Some(changed) => {
                    *stale = true
                }
                Leader::Idle | Leader::SawMachine { .. } | Leader::Writes { .. } => {}
            }
        }
    }

    /// A host has changed.
    pub fn touch_host(&mut self, changed: usize) {
        for leader in &mut self.leaders {
            if let Leader::Writes { write, stale } = leader
                && write.host() == Some(changed)
            {
                *stale = true;
            }
        }
    }

    /// Leaders are alike.
    pub fn canonical(mut self) -> Self {
        self.leaders.sort_unstable();
        self
    }
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
