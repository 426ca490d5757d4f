//! What a decision on one host says.

use crate::host_facts::HostAct;
use crate::host_why::HostWhy;

/// What to write to a host, and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostDecision {
    /// The write, if one is due.
    pub act: Option<HostAct>,
    /// What the host waits for.
    pub why: HostWhy,
    /// Decide again after this many seconds.
    pub again: Option<u64>,
}

pub const fn write(act: HostAct) -> HostDecision {
    because(act, HostWhy::Moving)
}

pub const fn because(act: HostAct, why: HostWhy) -> HostDecision {
    HostDecision {
        act: Some(act),
        why,
        again: None,
    }
}

pub const fn wait(why: HostWhy) -> HostDecision {
    HostDecision {
        act: None,
        why,
        again: None,
    }
}

/// How often a deadline is looked at.
pub const SOON: u64 = 60;

/// How often the machine of a claim is looked for. When it goes, careen-provider sees that, so this
/// is for what nobody saw. Each look costs the API server four reads.
pub const SWEEP: u64 = 900;

pub const fn look_again(why: HostWhy) -> HostDecision {
    HostDecision {
        act: None,
        why,
        again: Some(SOON),
    }
}

/// How often the pods of a node that is drained are asked to leave, and the pause between two looks
/// at them.
pub const EVICT_AGAIN: i64 = 20;

/// Waits for pods to leave.
pub const fn look_at_pods(why: HostWhy) -> HostDecision {
    HostDecision {
        act: None,
        why,
        again: Some(EVICT_AGAIN.unsigned_abs() + 1),
    }
}
