//! A node for programs, as `-o json` and `-o yaml` print it. Fields may be added; no field changes
//! its meaning.

use serde::Serialize;

use crate::duration;
use crate::expected::{Expected, elapsed, in_phase_since, waited};
use crate::lock::LockView;
use crate::standing::Standing;
use crate::unaccepted::unaccepted;
use crate::view::{NodeView, Ready};

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)] // Each is named as the column of the table, or the annotation, that it comes from.
pub struct NodeReport {
    pub node: String,
    pub state: &'static str,
    pub phase: Option<String>,
    pub percent: Option<u8>,
    pub code: Option<String>,
    pub reason: Option<String>,
    pub elapsed_seconds: Option<u64>,
    pub waited_seconds: Option<u64>,
    pub expected_seconds: Option<u64>,
    pub remaining_seconds: Option<u64>,
    pub kubelet: String,
    pub to_version: Option<String>,
    pub image: Option<String>,
    pub id: Option<String>,
    pub soak_seconds: Option<u64>,
    pub tries: u32,
    pub ready: bool,
    pub cordoned: bool,
    pub cordoned_by: Option<String>,
    pub paused: Option<String>,
    pub doing: Option<String>,
    pub asked_at: Option<u64>,
    pub phase_at: Option<u64>,
    pub heard_at: Option<u64>,
    pub machine: Option<String>,
    pub control_plane_locked_by: Option<String>,
    pub control_plane_locked_at: Option<u64>,
}

/// Reports a node in its state at `now`, in seconds since 1970.
#[must_use]
pub fn of(node: &NodeView, now: u64, expected: &Expected) -> NodeReport {
    let standing = Standing::of(node);
    let status = node
        .reply
        .status
        .as_ref()
        .filter(|_| !standing.is_waiting());
    let state = if standing == Standing::Idle {
        "Idle"
    } else {
        standing.word()
    };
    NodeReport {
        node: node.name.clone(),
        state,
        phase: status.map(|status| status.phase.clone()),
        percent: status.map(|status| status.percent),
        code: status
            .and_then(|status| status.code.clone())
            .or_else(|| unaccepted(node).map(|word| word.code.clone())),
        reason: node
            .reason()
            .filter(|_| !standing.is_waiting())
            .or_else(|| unaccepted(node).map(|word| word.sentence.as_str()))
            .map(str::to_owned),
        elapsed_seconds: elapsed(node, now),
        waited_seconds: waited(node, now),
        expected_seconds: expected.seconds().filter(|_| standing == Standing::Working),
        remaining_seconds: expected.left(node, now),
        kubelet: node.kubelet.clone(),
        to_version: status.and_then(|status| status.to_version.as_ref().map(ToString::to_string)),
        image: node.image().map(str::to_owned),
        id: id(node),
        soak_seconds: soak_seconds(node),
        tries: status.map_or(0, |status| status.tries),
        ready: node.ready == Ready::Yes,
        cordoned: node.cordoned,
        cordoned_by: node.cordoned_by.clone(),
        paused: node.paused.clone(),
        doing: status.and_then(|status| status.doing.clone()),
        asked_at: asked_at(node),
        phase_at: in_phase_since(node).filter(|_| status.is_some()),
        heard_at: node.heard.map(duration::seconds),
        machine: node.machine.clone(),
        control_plane_locked_by: None,
        control_plane_locked_at: None,
    }
}

impl NodeReport {
    /// The same with the lock of the node's cluster.
    #[must_use]
    pub fn with_lock(self, lock: Option<&LockView>) -> Self {
        Self {
            control_plane_locked_by: lock.map(|lock| lock.holder.clone()),
            control_plane_locked_at: lock.and_then(|lock| lock.since),
            ..self
        }
    }
}

fn asked_at(node: &NodeView) -> Option<u64> {
    let asked = node.asked.as_ref()?;
    asked.since.map(duration::seconds)
}

/// The soak of a request that has the accepted form.
fn soak_seconds(node: &NodeView) -> Option<u64> {
    let asked = node.asked.as_ref()?;
    asked.raw.soak_seconds().ok().flatten()
}

/// The id of the current request, or of the last answer.
fn id(node: &NodeView) -> Option<String> {
    let asked = node.asked.as_ref().and_then(|asked| asked.raw.id.clone());
    asked.or_else(|| node.reply.id().map(str::to_owned))
}
