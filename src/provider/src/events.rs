//! Events about what holds a rollout: core shows the text of an answer that holds a rollout nowhere. A courtesy; nobody decides
//! by them.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, PostParams};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;
use tracing::debug;

use crate::hands::{HandError, limited};
use crate::names;

/// How many may wait. More than that at once says nothing that one of them does not.
const WAITING: usize = 256;

/// The API server takes no longer notes, in bytes; ours are at most 400 characters.
const NOTE: usize = 1024;

/// Something that happened to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happened {
    /// `Machine` or `MachineDeployment`.
    pub kind: &'static str,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID; `kubectl describe` shows no Event without it.
    pub uid: String,
    /// A stable word.
    pub reason: String,
    /// A sentence.
    pub note: String,
}

/// A queue of Events; its writers do not wait.
#[derive(Clone)]
pub struct Events(mpsc::Sender<Happened>);

impl Events {
    /// The place, and its other end for [`publish`].
    #[must_use]
    pub fn new() -> (Self, mpsc::Receiver<Happened>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Self(sender), receiver)
    }

    /// Leaves one; it is dropped when too many wait.
    pub fn tell(&self, happened: Happened) {
        let _ = self.0.try_send(happened);
    }
}

/// Publishes for ever. The same about the same object has the same name, so it is there once, until the API server lets it go (an
/// hour), however often it is said and by however many of us.
pub async fn publish(client: Client, mut waiting: mpsc::Receiver<Happened>) {
    while let Some(happened) = waiting.recv().await {
        let api: Api<Event> = Api::namespaced(client.clone(), &happened.namespace);
        let made =
            limited(api.create(&PostParams::default(), &event(&happened, Timestamp::now()))).await;
        if let Err(error) = made
            && !matches!(error, HandError::Conflict)
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
            api_version: Some(format!("{}/{}", names::CORE_GROUP, names::CORE_VERSION)),
            kind: Some(happened.kind.to_owned()),
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
