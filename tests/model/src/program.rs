//! The steps, and where the machine's program stands among them.

use crate::cast::System;
use crate::kept::Kept;

/// A step, without what it carries beyond the system that it is about, or the force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // as `upgrade::Step`
pub enum Do {
    Fetch,
    Verify,
    Rehearse,
    Deploy(char),
    PreHooks,
    Exclude,
    Drain,
    Snapshot,
    Arm(System),
    Disarm,
    Reboot(bool),
    Kubeadm,
    Bless(char),
    Reinstate,
    PostHooks(bool),
    Release,
    Unmark,
    Undo(char),
    Clean,
    Pass,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// Done.
    Done,
    /// Failed for a reason that passes.
    Again,
    /// Failed for good.
    Bad,
    /// Given up because the request was withdrawn.
    Cancelled,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// Begin a step.
    Begin(Do),
    /// Stop the one that runs.
    Cancel,
    /// Look again then, in seconds of this boot.
    Wait(Option<u16>),
}

/// Where the machine's program stands: between any two of these the power may go.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pc {
    /// The loader is about to choose.
    Loader,
    /// The kernel runs, the stage is about to look.
    Guard,
    /// The stage has decided and not yet written.
    GuardWrites(Kept, Act),
    /// The stage has written and not yet acted.
    GuardActs(Act),
    /// The units before the kubelet, in order.
    Units(u8),
    /// The agent is about to look.
    Turn(Option<(Do, End)>),
    /// The agent has decided and not yet written.
    Writes(Kept, Act),
    /// The agent has written and not yet acted.
    Acts(Act),
    /// A step is under way: which, how many of its parts are done, and /etc as it was at its first.
    Doing(Do, u8, u8),
    /// The agent waits.
    Waits(Option<u16>),
}
