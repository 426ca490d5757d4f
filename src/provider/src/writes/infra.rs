//! Writes conditions and the version to an InfraMachine of any kind. It touches only the fields of
//! Cluster API's contract.

use std::collections::HashMap;
use std::sync::Arc;

use client::{chain, patch_by};
use kube::api::{Api, DynamicObject, Patch};
use kube::core::{ApiResource, ObjectMeta};
use kube::{Client, discovery};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::error::{WriteError, limited};
use crate::engine::Machine;
use crate::names;

/// The desired report on an InfraMachine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InfraReport {
    /// The status of [`names::CONDITION`]: `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// Its reason.
    pub reason: String,
    /// Its message.
    pub message: String,
    /// Keep [`names::READY`] at False. If this is not set and the provider had set it to False, it
    /// returns to True.
    pub unready: bool,
    /// The version for `status.version`.
    pub version: Option<String>,
}

/// InfraMachines of all kinds.
#[derive(Clone)]
pub struct InfraMachines {
    client: Client,
    kinds: Arc<Mutex<HashMap<(String, String), ApiResource>>>,
}

/// An InfraMachine as it was read.
pub struct InfraMachine {
    api: Api<DynamicObject>,
    object: DynamicObject,
}

impl InfraMachines {
    /// Starts with no known kinds.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self {
            client,
            kinds: Arc::default(),
        }
    }

    /// Reads the InfraMachine of a Machine.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn of(&self, machine: &Machine) -> Result<InfraMachine, WriteError> {
        let Some((group, kind, name)) = &machine.infra else {
            return Err(WriteError::Missing);
        };
        let resource = self.resource(group, kind).await?;
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), &machine.namespace, &resource);
        let read = limited(api.get(name)).await;
        if matches!(read, Err(WriteError::Missing)) {
            // The API server may now serve it in another version.
            self.kinds
                .lock()
                .await
                .remove(&(group.clone(), kind.clone()));
        }
        Ok(InfraMachine { api, object: read? })
    }

    /// A reference names the group and the kind. The version is the one that the API server
    /// prefers.
    async fn resource(&self, group: &str, kind: &str) -> Result<ApiResource, WriteError> {
        let key = (group.to_owned(), kind.to_owned());
        if let Some(known) = self.kinds.lock().await.get(&key) {
            return Ok(known.clone());
        }
        let found =
            tokio::time::timeout(crate::watch::ANSWER, discovery::group(&self.client, group)).await;
        let found = found.map_err(|_| WriteError::Away("discovery".to_owned()))?;
        let found = found.map_err(|error| WriteError::Away(chain(&error)))?;
        let served = found.recommended_kind(kind);
        let missing = || WriteError::Refused(format!("{group} serves no kind {kind}"));
        let (resource, _) = served.ok_or_else(missing)?;
        self.kinds.lock().await.insert(key, resource.clone());
        Ok(resource)
    }
}

impl InfraMachine {
    /// Its metadata.
    #[must_use]
    pub const fn metadata(&self) -> &ObjectMeta {
        &self.object.metadata
    }

    /// Its API version and kind.
    #[must_use]
    pub fn kind(&self) -> (&str, &str) {
        let types = self.object.types.as_ref();
        types.map_or(("", ""), |types| (&types.api_version, &types.kind))
    }

    /// Its spec.
    #[must_use]
    pub fn spec(&self) -> &Value {
        self.object.data.get("spec").unwrap_or(&Value::Null)
    }

    /// Its `status.version`.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.object.data.pointer("/status/version")?.as_str()
    }

    /// One of its conditions.
    #[must_use]
    pub fn condition(&self, kind: &str) -> Option<&Value> {
        let conditions = self.object.data.pointer("/status/conditions")?.as_array()?;
        conditions
            .iter()
            .find(|condition| condition["type"] == kind)
    }

    /// The provider reported that its node is not done yet.
    #[must_use]
    pub fn is_on_its_way(&self) -> bool {
        let ours = self.condition(names::CONDITION);
        ours.is_some_and(|condition| condition["status"] == "False")
    }

    /// Writes the desired report if it differs. Returns whether the version is present afterwards:
    /// a kind without that field drops it.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn write(&mut self, wanted: &InfraReport, now: &str) -> Result<bool, WriteError> {
        let conditions = self.conditions(wanted, now);
        let same_version = wanted
            .version
            .as_deref()
            .is_none_or(|version| self.version() == Some(version));
        let same = self.object.data.pointer("/status/conditions")
            == Some(&Value::Array(conditions.clone()));
        if same && same_version {
            return Ok(true);
        }
        let mut status = json!({ "conditions": conditions });
        if let Some(version) = &wanted.version {
            status["version"] = json!(version);
        }
        // A merge patch replaces a list as a whole, so it must be based on the list that was read.
        let metadata = json!({ "resourceVersion": self.object.metadata.resource_version });
        let body = Patch::Merge(json!({ "metadata": metadata, "status": status }));
        let name = self.object.metadata.name.as_deref().unwrap_or_default();
        let after = limited(
            self.api
                .patch_status(name, &patch_by(names::MANAGER), &body),
        )
        .await?;
        self.object = after;
        Ok(wanted.version.is_none() || self.version() == wanted.version.as_deref())
    }

    fn conditions(&self, wanted: &InfraReport, now: &str) -> Vec<Value> {
        let there = self
            .object
            .data
            .pointer("/status/conditions")
            .and_then(Value::as_array);
        let mut all = there.cloned().unwrap_or_default();
        set(
            &mut all,
            names::CONDITION,
            (wanted.status, &wanted.reason, &wanted.message),
            now,
        );
        let ours = self
            .condition(names::READY)
            .is_some_and(|ready| ready["reason"] == names::READY_REASON);
        let held_by_another = !ours
            && self
                .condition(names::READY)
                .is_some_and(|ready| ready["status"] == "False");
        if wanted.unready && !held_by_another {
            set(
                &mut all,
                names::READY,
                ("False", names::READY_REASON, &wanted.message),
                now,
            );
        } else if ours {
            set(&mut all, names::READY, ("True", names::READY, ""), now);
        }
        all
    }
}

/// Sets one condition. Its time changes only with its status.
fn set(all: &mut Vec<Value>, kind: &str, (status, reason, message): (&str, &str, &str), now: &str) {
    let place = all.iter().position(|condition| condition["type"] == kind);
    let old = place.map(|place| &all[place]);
    let since = old
        .filter(|old| old["status"] == status)
        .and_then(|old| old["lastTransitionTime"].as_str())
        .unwrap_or(now);
    let mut fresh = json!({
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since,
    });
    if let Some(generation) = old.and_then(|old| old.get("observedGeneration")) {
        fresh["observedGeneration"] = generation.clone();
    }
    match place {
        Some(place) => all[place] = fresh,
        None => all.push(fresh),
    }
}
