//! What of a Node the agent looks at, and nothing else: a Node object is tens of kilobytes, this is a few hundred bytes.

use std::collections::BTreeMap;

use client::{Condition, Node};
use upgrade::observe::Asked;
use upgrade::target::request;
use upgrade::{Keys, names};

use super::marks::{CORDON, EXCLUSION};

/// The annotations that a report is made of.
pub const ANSWERS: [&str; 4] = [
    names::ANSWER,
    names::FAILURE_REASON,
    names::STATUS,
    names::HISTORY,
];

/// Our Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSeen {
    /// Its name.
    pub name: String,
    /// Its UID, for Events.
    pub uid: String,
    /// What is asked for.
    pub asked: Asked,
    /// What its keys say beside a request.
    pub keys: Keys,
    /// Whether pods may be scheduled to it.
    pub schedulable: bool,
    /// Whose mark the cordon has, or had.
    pub cordoned_by: Option<String>,
    /// Whether that mark is left without a cordon, or beside somebody else's.
    pub cordon_mark_left: bool,
    /// Whose mark the label has, or had, that tells load balancers to leave it out.
    pub excluded_by: Option<String>,
    /// Whether that mark is left without that label, or beside somebody else's.
    pub exclusion_mark_left: bool,
    /// The question for a plan.
    pub question: Option<String>,
    /// The answer to one as it stands there.
    pub plan: Option<String>,
    /// Whether the kubelet says Ready.
    pub ready: bool,
    /// When it said so last, as the API writes it.
    pub ready_said: Option<String>,
    /// The boot in which the kubelet last registered.
    pub boot_id: String,
    /// The kubelet's version.
    pub kubelet_version: String,
    /// Our own condition as it stands there.
    pub condition: Option<Condition>,
    /// Our own answers as they stand there.
    pub answers: BTreeMap<&'static str, String>,
}

impl From<Node> for NodeSeen {
    fn from(node: Node) -> Self {
        let (cordon_mark_left, exclusion_mark_left) =
            (CORDON.is_left(&node), EXCLUSION.is_left(&node));
        let annotations = node.metadata.annotations.unwrap_or_default();
        let get = |key: &str| annotations.get(key).cloned();
        let labels = node.metadata.labels.unwrap_or_default();
        let status = node.status.unwrap_or_default();
        let ready = status.condition("Ready");
        let own = |key: &'static str| get(key).map(|value| (key, value));
        Self {
            name: node.metadata.name.unwrap_or_default(),
            uid: node.metadata.uid.unwrap_or_default(),
            asked: request::from_annotations(get).map_or(Asked::Nothing, Asked::This),
            keys: Keys::read(&annotations, &labels),
            schedulable: !node.spec.is_some_and(|spec| spec.unschedulable),
            cordoned_by: get(names::CORDONED_BY),
            cordon_mark_left,
            excluded_by: get(names::EXCLUDED_BY),
            exclusion_mark_left,
            question: get(names::PLAN),
            plan: get(names::PLAN_RESULT),
            ready: ready.is_some_and(|ready| ready.status == "True"),
            ready_said: ready.and_then(|ready| ready.last_heartbeat_time.clone()),
            condition: status.condition(names::CONDITION).cloned(),
            boot_id: status.node_info.boot_id,
            kubelet_version: status.node_info.kubelet_version,
            answers: ANSWERS.into_iter().filter_map(own).collect(),
        }
    }
}
