//! Events about what holds a rollout, because core shows the text of a holding answer nowhere. They
//! are informational; no decision depends on them.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, PostParams};
use kube::{Client, Resource, ResourceExt};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;
use tracing::debug;

use crate::engine::{Machine, Why};
use crate::names;
use crate::writes::{WriteError, limited};

/// The maximum number of queued Events. More than that at once adds no information.
const WAITING: usize = 256;

/// The API server's limit on the length of a note, in bytes. The provider's notes have at most 400
/// characters.
const NOTE: usize = 1024;

/// Something that happened to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happened {
    /// Its API group and version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID. `kubectl describe` shows no Event without it.
    pub uid: String,
    /// A stable reason.
    pub reason: String,
    /// The message.
    pub note: String,
}

impl Happened {
    /// An Event of this object.
    #[must_use]
    pub fn to<K: Resource<DynamicType = ()>>(object: &K, reason: &str, note: String) -> Self {
        Self {
            api_version: K::api_version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
            uid: object.uid().unwrap_or_default(),
            reason: reason.to_owned(),
            note,
        }
    }

    /// Why a Machine is held, as an Event of the Machine.
    #[must_use]
    pub fn to_machine(machine: &Machine, why: &Why) -> Self {
        Self {
            api_version: core(),
            kind: "Machine".to_owned(),
            namespace: machine.namespace.clone(),
            name: machine.name.clone(),
            uid: machine.uid.clone(),
            reason: why.code(),
            note: why.to_string(),
        }
    }
}

/// The group and version of Cluster API's own objects.
#[must_use]
pub fn core() -> String {
    format!("{}/{}", names::CORE_GROUP, names::CORE_VERSION)
}

/// A queue of Events. Its writers do not block.
#[derive(Clone)]
pub struct Events(mpsc::Sender<Happened>);

impl Events {
    /// The queue, and its receiving end for [`publish`].
    #[must_use]
    pub fn new() -> (Self, mpsc::Receiver<Happened>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Self(sender), receiver)
    }

    /// Queues an Event. Drops it if the queue is full.
    pub fn tell(&self, happened: Happened) {
        let _ = self.0.try_send(happened);
    }
}

/// Publishes Events for ever. The same Event about the same object has the same name. It therefore
/// exists once until the API server deletes it (an hour), no matter how often and by how many
/// replicas it is published.
pub async fn publish(client: Client, mut waiting: mpsc::Receiver<Happened>) {
    while let Some(happened) = waiting.recv().await {
        let api: Api<Event> = Api::namespaced(client.clone(), &happened.namespace);
        let made =
            limited(api.create(&PostParams::default(), &event(&happened, Timestamp::now()))).await;
        if let Err(error) = made
            && !matches!(error, WriteError::Conflict)
        {
            debug!("cannot publish an Event: {error}");
        }
    }
}

fn event(happened: &Happened, now: Timestamp) -> Event {
    let mut note = happened.note.clone();
    note.truncate(note.floor_char_boundary(NOTE));
    Event {
        metadata: ObjectMeta {
            name: Some(format!("careen-{}", fingerprint(happened))),
            namespace: Some(happened.namespace.clone()),
            ..ObjectMeta::default()
        },
        action: Some("Upgrade".to_owned()),
        event_time: Some(MicroTime(now)),
        note: Some(note),
        reason: Some(happened.reason.clone()),
        regarding: Some(ObjectReference {
            api_version: Some(happened.api_version.clone()),
            kind: Some(happened.kind.clone()),
            name: Some(happened.name.clone()),
            namespace: Some(happened.namespace.clone()),
            uid: Some(happened.uid.clone()),
            ..ObjectReference::default()
        }),
        reporting_controller: Some("careen.dev/provider".to_owned()),
        reporting_instance: Some(names::MANAGER.to_owned()),
        type_: Some("Warning".to_owned()),
        ..Event::default()
    }
}

fn fingerprint(happened: &Happened) -> String {
    let mut hash = Sha256::new();
    for part in [&happened.uid, &happened.reason, &happened.note] {
        hash.update(part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize()[..10]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
