//! Answers keys on Cluster API's objects that resemble Careen's: a log line and an Event on the
//! object, once for each value.

use kube::core::ObjectMeta;

use super::World;
use crate::events::Happened;
use crate::machines::{On, misses};

/// The reason of such an Event, as the agent's Event for a Node has it.
const REASON: &str = "UnknownKeys";

impl World {
    /// Looks at the keys of an object that a watch or a read has brought.
    pub fn answer_near_misses(&self, meta: &ObjectMeta, api_version: &str, kind: &str, on: On) {
        let uid = meta.uid.as_deref().unwrap_or_default();
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        for note in self.near.news(uid, misses(meta, on)) {
            let (namespace, name) = (text(&meta.namespace), text(&meta.name));
            tracing::warn!("{kind} {namespace}/{name}: {note}");
            self.happened(Happened {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                namespace,
                name,
                uid: uid.to_owned(),
                reason: REASON.to_owned(),
                note,
            });
        }
    }
}
