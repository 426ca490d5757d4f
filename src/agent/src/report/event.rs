//! Events about the Node, for `kubectl describe node` and for collectors. No program may decide by
//! them, because any node's credential can write Events about any object.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, PostParams};
use tracing::debug;
use upgrade::report::{Answer, Report};

use super::patch;
use crate::cluster::seen::NodeSeen;
use crate::cluster::{Cluster, admitted};

/// The controller that reports.
const CONTROLLER: &str = "careen.dev/agent";

/// The API server cuts notes at this many bytes.
const NOTE: usize = 1024;

/// The reason of an Event about keys that resemble Careen's.
const UNKNOWN_KEYS: &str = "UnknownKeys";

/// What an Event says.
pub struct Word {
    reason: String,
    note: String,
    bad: bool,
}

impl Word {
    /// The Event about the answer, or about what holds the upgrade up.
    pub fn of(report: &Report) -> Self {
        Self {
            reason: patch::code(report),
            note: patch::message(report),
            bad: report.answer == Some(Answer::Failed) || report.now().is_some(),
        }
    }

    /// The Event about keys that resemble Careen's.
    pub fn of_unknown_keys(report: &Report) -> Option<Self> {
        report.unknown().map(|note| Self {
            reason: UNKNOWN_KEYS.to_owned(),
            note,
            bad: true,
        })
    }
}

/// Publishes one Event. An Event that cannot be published is dropped, because the Node itself says
/// the same.
pub async fn publish(cluster: Arc<Cluster>, word: Word, node: Arc<NodeSeen>, now: Timestamp) {
    let result = async {
        // Events about cluster-wide objects are in `default`; the API server rejects them elsewhere
        // (k8s validation, not RBAC).
        let events: Api<Event> = Api::namespaced(cluster.client().await?, "default");
        admitted(events.create(&PostParams::default(), &event(word, &node, now))).await
    };
    if let Err(error) = result.await {
        debug!("cannot publish an Event: {error}");
    }
}

fn event(word: Word, node: &NodeSeen, now: Timestamp) -> Event {
    let mut note = word.note;
    note.truncate(note.floor_char_boundary(NOTE));
    let regarding = ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Node".to_owned()),
        name: Some(node.name.clone()),
        uid: Some(node.uid.clone()),
        ..ObjectReference::default()
    };
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{}.{:x}", node.name, now.as_nanosecond())),
            namespace: Some("default".to_owned()),
            ..ObjectMeta::default()
        },
        action: Some("Upgrade".to_owned()),
        event_time: Some(MicroTime(now)),
        note: Some(note),
        reason: Some(word.reason),
        regarding: Some(regarding),
        reporting_controller: Some(CONTROLLER.to_owned()),
        reporting_instance: Some(node.name.clone()),
        type_: Some(if word.bad { "Warning" } else { "Normal" }.to_owned()),
        ..Event::default()
    }
}
