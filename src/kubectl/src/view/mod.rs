//! A Node as the client sees it. All text from others is parsed here. It contains no control
//! sequences: the object was sanitized while it was read ([`crate::api::Cleaned`]), and so was the
//! JSON in its annotations.

use std::collections::BTreeMap;

use client::{Condition, NodeSpec, NodeStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use requests::{Limits, Reply};
use upgrade::history::Past;
use upgrade::plan::Plan;
use upgrade::target::request;
use upgrade::{Keys, Malformed, Pause, RawRequest, Request, names};

use crate::api::Node;
use upgrade::sanitize;

/// The limits on an annotation's JSON. The agent's own sentences are at most half as long as this
/// string.
const LIMITS: Limits = Limits {
    json: 64 * 1024,
    string: 8 * 1024,
};

/// The Machine's name, on its Node. Cluster API writes it.
const MACHINE: &str = "cluster.x-k8s.io/machine";

/// A Node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeView {
    /// Its name.
    pub name: String,
    /// Its UID. A replaced node has another UID under the same name.
    pub uid: String,
    /// The resource version that was read.
    pub resource_version: String,
    /// The kubelet's version.
    pub kubelet: String,
    /// Its Cluster API Machine.
    pub machine: Option<String>,
    /// The kubelet's Ready condition.
    pub ready: Ready,
    /// It is unschedulable.
    pub cordoned: bool,
    /// The upgrade that cordoned it, according to its mark.
    pub cordoned_by: Option<String>,
    /// The request.
    pub asked: Option<CurrentRequest>,
    /// Why the agent starts nothing new.
    pub paused: Option<String>,
    /// How to remove a key that only looks like a pause; nothing for a real pause.
    pub unpaused_by: Option<String>,
    /// What to do about the pause, if another program is about to remove the node.
    pub leaving: Option<String>,
    /// The keys on the Node that nearly match one of Careen's, each with a few words.
    pub unknown_keys: Vec<String>,
    /// The agent's reply.
    pub reply: Reply,
    /// The message of a failure.
    pub failure: Option<String>,
    /// The agent's condition.
    pub word: Option<Word>,
    /// When the agent last wrote.
    pub heard: Option<Timestamp>,
    /// The last upgrades, latest first; absent if the agent keeps no history.
    pub history: Option<Vec<Past>>,
    /// The question for a plan.
    pub question: Option<String>,
    /// The answer to a question.
    pub plan: Option<Plan>,
}

/// The agent's current report, in addition to its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// One word: a reason's code, or a phase.
    pub code: String,
    /// A sentence.
    pub sentence: String,
}

/// The value of the condition `Ready`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ready {
    /// Ready.
    Yes,
    /// Not ready, since this time.
    No(Option<Timestamp>),
    /// The kubelet has been silent since this time.
    Unknown(Option<Timestamp>),
}

/// The current request.
#[derive(Clone, Debug, PartialEq)]
pub struct CurrentRequest {
    /// Its annotations.
    pub raw: RawRequest,
    /// Their meaning.
    pub parsed: Result<Request, Malformed>,
    /// When it was written, according to the API server.
    pub since: Option<Timestamp>,
}

impl NodeView {
    /// Why the upgrade failed or what blocks it, from whichever field has it.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        let status = self.reply.status.as_ref();
        let told = status.and_then(|status| status.reason.as_deref());
        told.or(self.failure.as_deref())
    }

    /// The requested image.
    #[must_use]
    pub fn image(&self) -> Option<&str> {
        self.asked
            .as_ref()
            .and_then(|asked| asked.raw.image.as_deref())
    }
}

impl From<Node> for NodeView {
    fn from(node: Node) -> Self {
        let node = node.into_inner();
        let meta = node.metadata;
        let asked = asked(&meta);
        let spec = node.spec.unwrap_or_default();
        let status = node.status.unwrap_or_default();
        let keys = keys(&meta, &spec, &status);
        let annotations = meta.annotations.unwrap_or_default();
        let name = meta.name.unwrap_or_default();
        let pause = keys.pause.as_ref();
        let strays = keys.strays.iter();
        let text = |key: &str| annotations.get(key).map(|value| sanitize::line(value));
        let value = |key: &str| annotations.get(key).map(String::as_str);
        let own = status.condition(names::CONDITION);
        Self {
            uid: meta.uid.unwrap_or_default(),
            resource_version: meta.resource_version.unwrap_or_default(),
            kubelet: sanitize::line(&status.node_info.kubelet_version),
            machine: text(MACHINE),
            ready: ready(status.condition("Ready")),
            cordoned: spec.unschedulable,
            cordoned_by: text(names::CORDONED_BY),
            asked,
            paused: pause.map(|pause| sanitize::line(&pause.why())),
            unpaused_by: pause.and_then(|pause| removal(pause, &name)),
            leaving: pause.and_then(leaving),
            unknown_keys: strays.map(|stray| sanitize::line(&stray.told())).collect(),
            name,
            reply: reply(value),
            failure: text(names::FAILURE_REASON),
            word: own.and_then(word),
            heard: own.and_then(|own| moment(own.last_heartbeat_time.as_ref())),
            history: LIMITS.read(value(names::HISTORY)),
            question: annotations.get(names::PLAN).cloned(),
            plan: LIMITS.read(value(names::PLAN_RESULT)),
        }
    }
}

/// The keys of our domain on the Node, and each sign that the Node leaves.
fn keys(meta: &ObjectMeta, spec: &NodeSpec, status: &NodeStatus) -> Keys {
    let (none, taints) = (BTreeMap::new(), spec.taints());
    let annotations = meta.annotations.as_ref().unwrap_or(&none);
    let labels = meta.labels.as_ref().unwrap_or(&none);
    let deleted = meta.deletion_timestamp.as_ref();
    Keys::of(annotations, labels, &taints)
        .with_conditions(status.said())
        .with_deletion(deleted.map(|time| time.0.to_string()).as_deref())
}

/// The agent's reply.
fn reply<'a>(value: impl Fn(&str) -> Option<&'a str>) -> Reply {
    let mut reply = Reply::read(value, LIMITS);
    if let Some(told) = &mut reply.status {
        // No bar is longer than its full width.
        told.percent = told.percent.min(100);
    }
    reply
}

fn removal(pause: &Pause, node: &str) -> Option<String> {
    match pause {
        Pause::Asked(_) | Pause::Leaves(_) => None,
        Pause::Looks(stray) => Some(sanitize::line(&stray.removal(node))),
    }
}

fn leaving(pause: &Pause) -> Option<String> {
    match pause {
        Pause::Leaves(leaving) => Some(sanitize::line(&leaving.advice())),
        Pause::Asked(_) | Pause::Looks(_) => None,
    }
}

/// An unreadable time counts as absent.
fn moment(time: Option<&String>) -> Option<Timestamp> {
    time?.parse().ok()
}

fn word(condition: &Condition) -> Option<Word> {
    let code = sanitize::line(&condition.reason);
    (!code.is_empty()).then(|| Word {
        code,
        sentence: sanitize::line(&condition.message),
    })
}

fn ready(condition: Option<&Condition>) -> Ready {
    let since = condition.and_then(|found| moment(found.last_transition_time.as_ref()));
    match condition.map(|found| found.status.as_str()) {
        Some("True") => Ready::Yes,
        Some("False") => Ready::No(since),
        _ => Ready::Unknown(since),
    }
}

fn asked(meta: &ObjectMeta) -> Option<CurrentRequest> {
    let get = |key: &str| {
        let annotations = meta.annotations.as_ref()?;
        annotations.get(key).map(|value| sanitize::line(value))
    };
    let raw = request::from_annotations(get)?;
    Some(CurrentRequest {
        parsed: raw.parse(),
        raw,
        since: written(meta.managed_fields.as_deref().unwrap_or_default()),
    })
}

/// When the field manager of the request last wrote.
fn written(managed: &[ManagedFieldsEntry]) -> Option<Timestamp> {
    let key = format!("f:{}", names::REQUEST);
    let holds = |entry: &&ManagedFieldsEntry| {
        let fields = entry.fields_v1.as_ref();
        fields.is_some_and(|fields| !fields.0["f:metadata"]["f:annotations"][&key].is_null())
    };
    let holder = managed.iter().find(holds)?;
    holder.time.as_ref().map(|time| time.0)
}
