//! The events and states that a test waits for.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use testkit::cluster_api::objects;

use super::Management;
use crate::cluster::PATIENCE;
use crate::events;

impl Management {
    /// Waits for a value.
    ///
    /// # Errors
    /// When it does not come.
    pub async fn until<T, F>(&self, what: &str, ask: impl FnMut() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        objects::until(what, PATIENCE, ask).await
    }

    /// Waits until the Node requests an upgrade, or no longer requests it. Returns the request's
    /// id.
    ///
    /// # Errors
    /// When that does not happen.
    pub async fn until_asked(&self, name: &str, asked: bool) -> Result<String> {
        let what = format!("Node {name} asked: {asked}");
        let look = || async {
            let node = self.nodes().get(name).await?;
            let annotations = node.metadata.annotations.unwrap_or_default();
            let stands = annotations.contains_key(upgrade::names::REQUEST);
            ensure!(stands == asked, "{annotations:?}");
            let id = annotations.get(upgrade::names::UPGRADE_ID);
            Ok(id.cloned().unwrap_or_default())
        };
        objects::until(&what, PATIENCE, look).await
    }

    /// Waits until a Machine has this annotation, or no longer has it.
    ///
    /// # Errors
    /// When that does not happen.
    pub async fn until_annotated(&self, name: &str, key: &str, there: bool) -> Result<()> {
        let look = || async {
            let annotations = self.get("Machine", name).await?.metadata.annotations;
            let annotations = annotations.unwrap_or_default();
            ensure!(annotations.contains_key(key) == there, "{annotations:?}");
            Ok(())
        };
        objects::until(&format!("{key} on {name}: {there}"), PATIENCE, look).await
    }

    /// Waits until this condition of the Machine's InfraMachine has this reason. Returns the
    /// condition.
    ///
    /// # Errors
    /// When that does not happen.
    pub async fn until_reason(&self, name: &str, kind: &str, reason: &str) -> Result<Value> {
        let look = || async {
            let found = self.condition(name, kind).await?;
            ensure!(found["reason"] == reason, "{found}");
            Ok(found)
        };
        objects::until(&format!("{kind} of {name}: {reason}"), PATIENCE, look).await
    }

    /// This condition of the Machine's InfraMachine.
    ///
    /// # Errors
    /// When it does not exist.
    pub async fn condition(&self, name: &str, kind: &str) -> Result<Value> {
        let infra = self.get("HostMachine", name).await?;
        let all = infra.data["status"]["conditions"].as_array().cloned();
        let mut all = all.unwrap_or_default().into_iter();
        all.find(|one| one["type"] == kind).context("none yet")
    }

    /// Waits for an Event with this reason about this object. Returns its note.
    ///
    /// # Errors
    /// When none comes.
    pub async fn until_event(&self, name: &str, reason: &str) -> Result<String> {
        let look = || async {
            let all = self.events(name, reason).await?;
            all.into_iter().next().context("no such Event")
        };
        objects::until(&format!("an Event {reason} of {name}"), PATIENCE, look).await
    }

    /// The notes of all Events with this reason about this object.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn events(&self, name: &str, reason: &str) -> Result<Vec<String>> {
        events::notes(&self.admin, &self.space, (name, reason)).await
    }
}
