//! The objects of the API server, and the real hosts.

use infrastructure::Phase;

use crate::world::MOST;

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
