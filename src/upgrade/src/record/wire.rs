//! The flat form of an upgrade on the disk, and its conversion to and from the typed one.
//!
//! The flat form is format 1, which every released agent reads and writes. It can represent states
//! that no upgrade can be in. Such a state is read as the nearest valid upgrade.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{
    ApiSeen, Attempt, Control, Custody, Kubeadm, NewDefault, Reached, Redo, Rehearsal, Retry,
    Signatures, Taken, Upgrade,
};
use crate::bill::Bill;
use crate::id::{BootId, Moment, UpgradeId};
use crate::image::{Deployment, ImageFacts};
use crate::observe::TrialEnd;
use crate::phase::Phase;
use crate::reason::Reason;
use crate::serving::Serving;
use crate::step::Step;
use crate::target::{RawRequest, Target};
use crate::version::Version;

/// One upgrade, as it is on the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Wire {
    /// The id, repeated in every answer.
    pub(super) id: UpgradeId,
    /// The request as it was when the agent accepted it.
    pub(super) request: RawRequest,
    /// The image; pinned from `Fetched` on.
    pub(super) target: Target,
    /// The image is the system that this node has kept, so nothing is fetched.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) kept: bool,
    /// The phase that the upgrade has reached.
    pub(super) phase: Phase,
    /// The step that was begun and whose outcome is not known yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) intent: Option<Step>,
    /// The system that ran when the agent accepted the request.
    pub(super) from: Deployment,
    /// The Kubernetes version of that system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) from_version: Option<Version>,
    /// What the commit contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) facts: Option<ImageFacts>,
    /// What the policy required of signatures when the deployment began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) signatures: Option<Signatures>,
    /// The new deployment, once it exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) to: Option<Deployment>,
    /// Trial boots so far. A boot is counted before control passes to the new system.
    #[serde(default)]
    pub(super) tries: u32,
    /// What blocks the drain, as the rehearsal found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) warning: Option<Reason>,
    /// The rehearsal of the drain has run.
    #[serde(default)]
    pub(super) rehearsed: bool,
    /// Why the upgrade waits although nothing failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) waits: Option<Reason>,
    /// The pre-hooks have passed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) prepared: bool,
    /// The node is taken from its users, or is being taken, and was not given back since. The agent
    /// writes this before the first step that takes the node, because an agent that is killed in a
    /// step does not know the outcome.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) taken: bool,
    /// The node was taken from its users, or is being taken, and the post-hooks have not run since.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) post_hooks_due: bool,
    /// The name of our Node when it was first taken from its users. Unset once the node is given
    /// back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<String>,
    /// Since when load balancers are asked to exclude the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) excluded: Option<Moment>,
    /// When the drain first began. An agent that restarts during the drain does not extend its
    /// deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) drain_begun: Option<Moment>,
    /// The deployment is being repeated because /etc has changed. Until that ends, the former
    /// deployment may still be on the disk, whatever the note about /etc says.
    #[serde(default)]
    pub(super) redeploying: bool,
    /// How often the deployment was repeated since the last trial.
    #[serde(default)]
    pub(super) redeployed: u32,
    /// How often the node was drained again since the last trial, because its cordon was removed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) recordoned: u32,
    /// The kubelet's state is saved, once per upgrade.
    #[serde(default)]
    pub(super) snapshot: bool,
    /// Why the last trial was aborted, where the new system is not to blame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) given_up: Option<Reason>,
    /// What ended a trial without a verdict, where something shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ended_by: Option<TrialEnd>,
    /// The API server was away at the end of the last trial, and the old system has reached it
    /// since.
    #[serde(default)]
    pub(super) api_reached_from_old: bool,
    /// The old system has reached the API server in this upgrade. Released versions did not write
    /// this: call [`Upgrade::old_has_reached_api`].
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) api_seen_from_old: bool,
    /// The last boot in which the new system has reached the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) api_seen_from_new: Option<BootId>,
    /// The Node was paused when the agent last saw it, so the next step does not begin. A restarted
    /// agent sees the Node's annotations only later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) held: bool,
    /// Careen's cordon is removed.
    #[serde(default)]
    pub(super) released: bool,
    /// When that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) released_at: Option<Moment>,
    /// The upgrade has ended and is counted.
    #[serde(default)]
    pub(super) closed: bool,
    /// What is no longer needed was removed from the disk.
    #[serde(default)]
    pub(super) cleaned: bool,
    /// The deadline for the verdict on the trial, in seconds since boot. The deadman enforces it.
    #[serde(default)]
    pub(super) deadline_seconds: u64,
    /// Until when the agent asks the deadman to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hold: Option<Moment>,
    /// Since when the new system is healthy without a break. Set only where a soak is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) well_since: Option<Moment>,
    /// Something other than Careen made the new system the default during its trial.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) default_moved: bool,
    /// The boot in which Careen last made the old system the default again. Written before that
    /// step begins, once per boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reinstated: Option<BootId>,
    /// The boot in which the stage let the new system through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) guarded: Option<BootId>,
    /// `kubeadm upgrade node` must run before the node is given back. Either it had not succeeded
    /// when the new system was found healthy, because the policy lets a system be blessed without
    /// the API server; or another boot intervened.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) kubeadm_due: bool,
    /// The boot in which `kubeadm upgrade node` succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) configured: Option<BootId>,
    /// Why the current step failed last, and when it may be retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retry: Option<WireRetry>,
    /// When phases were reached, by the wall clock; for display only.
    #[serde(default)]
    pub(super) reached: Vec<Reached>,
    /// What the upgrade cost the node's users; for display only.
    #[serde(default, skip_serializing_if = "Bill::is_blank")]
    pub(super) bill: Bill,
    /// How the node served before its first drain, or the first one since its users had it back.
    #[serde(default, skip_serializing_if = "Serving::is_blank")]
    pub(super) served: Serving,
    /// How the new system differs from that, in sentences; for display only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) differs: Vec<String>,
    /// The control plane of this node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) control: Option<Control>,
    /// Fields of a newer version, unknown to this one.
    #[serde(flatten)]
    pub(super) unknown: Map<String, Value>,
}

/// A step to retry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WireRetry {
    /// The name of the step.
    pub(super) step: String,
    /// Attempts so far.
    pub(super) tries: u32,
    /// When the next attempt is due. In another boot it is due at once.
    pub(super) due: Moment,
    /// Why the last attempt failed.
    pub(super) reason: Reason,
}

impl Serialize for Upgrade {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Wire::from(self.clone()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Upgrade {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Wire::deserialize(deserializer).map(Self::from)
    }
}

impl From<Wire> for Upgrade {
    fn from(wire: Wire) -> Self {
        let (rehearsal, custody) = (rehearsal(&wire), custody(&wire));
        let attempt = attempt(&wire);
        let seen_from_old = seen_from_old(&wire);
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
                from_old: seen_from_old,
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
            served: wire.served,
            differs: wire.differs,
            control: wire.control,
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

/// Whether the old system has reached the API server. A released agent did not note it, but it
/// drained the node, and no drain ends without the server.
const fn seen_from_old(wire: &Wire) -> bool {
    wire.api_seen_from_old || wire.drain_begun.is_some()
}

/// An agent that did not know the field `taken` wrote the other fields.
fn custody(wire: &Wire) -> Custody {
    let hooks_due = wire.post_hooks_due;
    let begun = wire.prepared || wire.excluded.is_some() || wire.drain_begun.is_some();
    if wire.released {
        let since = wire.released_at.clone();
        Custody::GivenBack { hooks_due, since }
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
        ended_by: wire.ended_by,
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
        let released_at = up.custody.given_back_at().cloned();
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
            ended_by: up.attempt.ended_by,
            api_reached_from_old: up.api.compared,
            api_seen_from_old: up.api.from_old,
            api_seen_from_new: up.api.from_new,
            held: up.paused,
            released,
            released_at,
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
            served: up.served,
            differs: up.differs,
            control: up.control,
            unknown: up.unknown,
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
const fn is_false(value: &bool) -> bool {
    !*value
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
const fn is_zero(value: &u32) -> bool {
    *value == 0
}
