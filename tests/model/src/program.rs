//! The steps, and the position of the machine's program.

use upgrade::control_plane::Task;

use crate::cast::System;
use crate::kept::Kept;

/// A step with only its system, or its force.
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
    Settle,
    Undo(char),
    Clean,
    Control(Task),
    Pass,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// Done.
    Done,
    /// Failed temporarily.
    Again,
    /// Failed permanently.
    Bad,
    /// Cancelled because the request was withdrawn.
    Cancelled,
    /// Done, and another upgrade has the lock.
    Busy,
}

/// The decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// Begin a step.
    Begin(Do),
    /// Stop the running step.
    Cancel,
    /// Look again at this second of the boot.
    Wait(Option<u16>),
}

/// The position of the machine's program. Between any two positions the power may fail.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pc {
    /// The loader is about to choose.
    Loader,
    /// The kernel runs, and the stage is about to look.
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
    /// A step is under way: the step, the number of completed parts, and /etc as it was at the
    /// first part.
    Doing(Do, u8, u8),
    /// The agent waits.
    Waits(Option<u16>),
}
