//! The typed upgrade from the flat record, and back.
//!
//! The flat form can say more than an upgrade can be: it was written by agents that did not know
//! every mark. What it says is read as one of the values. A value that no rule changes is written
//! back as it was.

use super::{
    ApiSeen, Attempt, Custody, Kubeadm, NewDefault, Redo, Rehearsal, Retry, Taken, Upgrade,
};
use crate::record::{Retry as WireRetry, Upgrade as Wire};

impl From<Wire> for Upgrade {
    fn from(wire: Wire) -> Self {
        let (rehearsal, custody) = (rehearsal(&wire), custody(&wire));
        let attempt = attempt(&wire);
        Self {
            id: wire.id,
            request: wire.request,
            target: wire.target,
            kept: wire.kept,
            phase: wire.phase,
            intent: wire.intent,
            from: wire.from,
            from_version: wire.from_version,
            facts: wire.facts,
            signatures: wire.signatures,
            to: wire.to,
            rehearsal,
            custody,
            attempt,
            redo: Redo {
                deploying: wire.redeploying,
                deployed: wire.redeployed,
                drained: wire.recordoned,
            },
            api: ApiSeen {
                from_old: wire.api_seen_from_old,
                from_new: wire.api_seen_from_new,
                compared: wire.api_reached_from_old,
            },
            paused: wire.held,
            waits: wire.waits,
            retry: wire.retry.map(Retry::from),
            cleaned: wire.cleaned,
            closed: wire.closed,
            reached: wire.reached,
            bill: wire.bill,
            unknown: wire.unknown,
        }
    }
}

fn rehearsal(wire: &Wire) -> Rehearsal {
    if wire.rehearsed {
        let blocked = wire.warning.clone();
        Rehearsal::Held { blocked }
    } else {
        Rehearsal::Due
    }
}

/// An agent that did not know the mark `taken` wrote the others.
fn custody(wire: &Wire) -> Custody {
    let hooks_due = wire.post_hooks_due;
    let begun = wire.prepared || wire.excluded.is_some() || wire.drain_begun.is_some();
    if wire.released {
        Custody::GivenBack { hooks_due }
    } else if wire.taken || begun {
        Custody::Upgrade(Taken {
            prepared: wire.prepared,
            hooks_due,
            node: wire.node.clone(),
            excluded: wire.excluded.clone(),
            drain_begun: wire.drain_begun.clone(),
        })
    } else {
        Custody::Users { hooks_due }
    }
}

fn attempt(wire: &Wire) -> Attempt {
    Attempt {
        tries: wire.tries,
        saved: wire.snapshot,
        deadline_seconds: wire.deadline_seconds,
        guarded: wire.guarded.clone(),
        hold: wire.hold.clone(),
        well_since: wire.well_since.clone(),
        given_up: wire.given_up.clone(),
        default: new_default(wire),
        kubeadm: Kubeadm {
            due: wire.kubeadm_due,
            configured: wire.configured.clone(),
        },
    }
}

fn new_default(wire: &Wire) -> NewDefault {
    if wire.default_moved {
        let reinstated = wire.reinstated.clone();
        NewDefault::Moved { reinstated }
    } else {
        NewDefault::NotMoved
    }
}

impl From<WireRetry> for Retry {
    fn from(wire: WireRetry) -> Self {
        Self {
            step: wire.step.into(),
            tries: wire.tries,
            due: wire.due,
            reason: wire.reason,
        }
    }
}

impl From<Retry> for WireRetry {
    fn from(retry: Retry) -> Self {
        Self {
            step: retry.step.into(),
            tries: retry.tries,
            due: retry.due,
            reason: retry.reason,
        }
    }
}

impl From<Upgrade> for Wire {
    fn from(up: Upgrade) -> Self {
        let (rehearsed, warning) = match up.rehearsal {
            Rehearsal::Due => (false, None),
            Rehearsal::Held { blocked } => (true, blocked),
        };
        let (post_hooks_due, released) = (up.custody.hooks_due(), up.custody.is_given_back());
        let (taken, marks) = match up.custody {
            Custody::Users { .. } | Custody::GivenBack { .. } => (false, Taken::default()),
            Custody::Upgrade(marks) => (true, marks),
        };
        let (default_moved, reinstated) = match up.attempt.default {
            NewDefault::NotMoved => (false, None),
            NewDefault::Moved { reinstated } => (true, reinstated),
        };
        Self {
            id: up.id,
            request: up.request,
            target: up.target,
            kept: up.kept,
            phase: up.phase,
            intent: up.intent,
            from: up.from,
            from_version: up.from_version,
            facts: up.facts,
            signatures: up.signatures,
            to: up.to,
            tries: up.attempt.tries,
            warning,
            rehearsed,
            waits: up.waits,
            prepared: marks.prepared,
            taken,
            post_hooks_due,
            node: marks.node,
            excluded: marks.excluded,
            drain_begun: marks.drain_begun,
            redeploying: up.redo.deploying,
            redeployed: up.redo.deployed,
            recordoned: up.redo.drained,
            snapshot: up.attempt.saved,
            given_up: up.attempt.given_up,
            api_reached_from_old: up.api.compared,
            api_seen_from_old: up.api.from_old,
            api_seen_from_new: up.api.from_new,
            held: up.paused,
            released,
            closed: up.closed,
            cleaned: up.cleaned,
            deadline_seconds: up.attempt.deadline_seconds,
            hold: up.attempt.hold,
            well_since: up.attempt.well_since,
            default_moved,
            reinstated,
            guarded: up.attempt.guarded,
            kubeadm_due: up.attempt.kubeadm.due,
            configured: up.attempt.kubeadm.configured,
            retry: up.retry.map(WireRetry::from),
            reached: up.reached,
            bill: up.bill,
            unknown: up.unknown,
        }
    }
}

impl Upgrade {
    /// The flat form. What `was` says of a value that is still the same stays as it is there.
    pub(crate) fn into_wire(self, was: &Wire) -> Wire {
        let same_rehearsal = self.rehearsal == rehearsal(was);
        let same_custody = self.custody == custody(was);
        let same_default = self.attempt.default == new_default(was);
        let mut wire = Wire::from(self);
        if same_rehearsal {
            wire.warning.clone_from(&was.warning);
        }
        if same_custody {
            keep_custody(&mut wire, was);
        }
        if same_default {
            wire.reinstated.clone_from(&was.reinstated);
        }
        wire
    }
}

fn keep_custody(wire: &mut Wire, was: &Wire) {
    (wire.taken, wire.prepared) = (was.taken, was.prepared);
    wire.node.clone_from(&was.node);
    wire.excluded.clone_from(&was.excluded);
    wire.drain_begun.clone_from(&was.drain_begun);
}
