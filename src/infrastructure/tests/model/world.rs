//! The state: the objects of the API server, the real hosts, and the leaders that work at once.
//!
//! There are no resource versions. A write knows instead whether its object has changed since it was
//! read: that is all a server compares, and it keeps the number of states finite.

use infrastructure::Phase;

use crate::mutant::Mutant;
use crate::objects::{Host, Machine, Objects, Real};
use crate::write::Leader;

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
