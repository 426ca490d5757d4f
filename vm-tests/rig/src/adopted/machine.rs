//! Cluster API's view of its Machines. A single watch follows them, as for the Node (see
//! [`crate::node`]).

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use futures::StreamExt;
use kube::api::DynamicObject;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;
use testkit::cluster_api::objects;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

/// The parts of a Machine that scenarios look at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// Its name.
    pub name: String,
    /// The version in its specification.
    pub version: String,
    /// The version that its Node reports.
    pub running: String,
    /// The message of condition `Updating` while it is True.
    pub updating: Option<String>,
    /// Condition `UpToDate`.
    pub up_to_date: bool,
    /// Condition `Available`.
    pub available: bool,
    /// Whether it is being deleted or gone.
    pub goes: bool,
}

/// All Machines ever seen, by UID.
type Seen = BTreeMap<String, View>;

/// A watch on the Machines of one namespace, which must contain a single Machine that never changes
/// identity. Dropping it ends it.
#[derive(Debug)]
pub struct MachineWatch {
    seen: watch::Receiver<Seen>,
    task: JoinHandle<()>,
}

impl View {
    /// Whether it is up to date in this version and available.
    #[must_use]
    pub fn serves(&self, version: &str) -> bool {
        self.version == version && self.running == version && self.up_to_date && self.available
    }

    fn of(machine: &DynamicObject) -> Self {
        let text = |pointer: &str| {
            let found = machine.data.pointer(pointer).and_then(Value::as_str);
            found.unwrap_or_default().to_owned()
        };
        let is = |word: &str| condition(machine, word)["status"] == "True";
        let updating = condition(machine, "Updating")["message"].as_str();
        Self {
            name: machine.name_any(),
            version: text("/spec/version"),
            running: text("/status/nodeInfo/kubeletVersion"),
            updating: updating.filter(|_| is("Updating")).map(str::to_owned),
            up_to_date: is("UpToDate"),
            available: is("Available"),
            goes: machine.metadata.deletion_timestamp.is_some(),
        }
    }
}

fn condition<'a>(machine: &'a DynamicObject, word: &str) -> &'a Value {
    let all = machine.data.pointer("/status/conditions");
    let mut all = all.and_then(Value::as_array).into_iter().flatten();
    all.find(|condition| condition["type"] == word)
        .unwrap_or(&Value::Null)
}

impl MachineWatch {
    /// Starts watching.
    ///
    /// # Errors
    ///
    /// Never fails, because the kind is well formed.
    pub fn start(client: &Client, namespace: &str) -> Result<Self> {
        let kind = objects::kind("cluster.x-k8s.io/v1beta2", "Machine")?;
        let (tell, seen) = watch::channel(Seen::new());
        let task = tokio::spawn(follow(objects::api(client, &kind, Some(namespace)), tell));
        Ok(Self { seen, task })
    }

    /// The one Machine.
    ///
    /// # Errors
    ///
    /// Fails when there is none yet, when it is being deleted, or when another one ever existed:
    /// then it was replaced.
    pub fn the_one(&self) -> Result<View> {
        let seen = self.seen.borrow();
        ensure_one(&seen)?;
        seen.values().next().cloned().context("there is no Machine")
    }

    /// Waits until the one Machine matches `wanted`.
    ///
    /// # Errors
    ///
    /// Fails when that does not happen in time, and at once when the Machine is deleted or another
    /// one appears.
    pub async fn wait(
        &mut self,
        what: &str,
        limit: Duration,
        wanted: impl Fn(&View) -> bool,
    ) -> Result<View> {
        let deadline = Instant::now() + limit;
        loop {
            ensure_one(&self.seen.borrow_and_update())?;
            if let Ok(view) = self.the_one()
                && wanted(&view)
            {
                return Ok(view);
            }
            let changed = timeout_at(deadline, self.seen.changed()).await;
            let Ok(changed) = changed else {
                let seen = self.seen.borrow().clone();
                bail!("not within {limit:?}: {what}; Machines are {seen:#?}");
            };
            changed.context("the watch on Machines ended")?;
        }
    }
}

fn ensure_one(seen: &Seen) -> Result<()> {
    let stays = seen.len() <= 1 && !seen.values().any(|machine| machine.goes);
    ensure!(stays, "the Machine was to stay the same one: {seen:#?}");
    Ok(())
}

impl Drop for MachineWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn follow(api: Api<DynamicObject>, tell: watch::Sender<Seen>) {
    let mut events = std::pin::pin!(watcher(api, watcher::Config::default()));
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(machine) | Event::InitApply(machine)) => {
                put(&tell, &machine, View::of(&machine));
            }
            Ok(Event::Delete(machine)) => {
                let gone = View {
                    goes: true,
                    ..View::of(&machine)
                };
                put(&tell, &machine, gone);
            }
            Ok(Event::Init | Event::InitDone) => {}
            // The API server is away; the watch restarts.
            Err(_) => tokio::time::sleep(Duration::from_millis(500)).await,
        }
    }
}

fn put(tell: &watch::Sender<Seen>, machine: &DynamicObject, view: View) {
    let uid = machine.uid().unwrap_or_default();
    tell.send_if_modified(|seen| {
        let changed = seen.get(&uid) != Some(&view);
        seen.insert(uid, view);
        changed
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn view(object: Value) -> View {
        View::of(&serde_json::from_value(object).unwrap())
    }

    fn machine(conditions: Value) -> Value {
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": { "name": "a", "uid": "u" },
            "spec": { "version": "v1.36.3" },
            "status": { "nodeInfo": { "kubeletVersion": "v1.36.3" }, "conditions": conditions },
        })
    }

    #[test]
    fn machine_serves_only_when_up_to_date_and_available() {
        let is = |word: &str| json!({ "type": word, "status": "True" });
        let both = json!([is("UpToDate"), is("Available")]);
        assert!(view(machine(both)).serves("v1.36.3"));
        assert!(!view(machine(json!([is("UpToDate")]))).serves("v1.36.3"));
    }

    #[test]
    fn the_word_of_an_update_counts_while_it_is_under_way() {
        let says = |status: &str| {
            let updating = json!({ "type": "Updating", "status": status, "message": "Trial" });
            view(machine(json!([updating]))).updating
        };
        assert_eq!(says("True").as_deref(), Some("Trial"));
        assert_eq!(says("False"), None);
    }

    #[test]
    fn one_that_goes_and_one_that_comes_beside_it_are_noticed() {
        let stays = View::default();
        let goes = View {
            goes: true,
            ..View::default()
        };
        let seen = |views: &[View]| {
            let uids = (0..).map(|number: u32| number.to_string());
            uids.zip(views.iter().cloned()).collect::<Seen>()
        };
        assert!(ensure_one(&seen(&[])).is_ok());
        assert!(ensure_one(&seen(std::slice::from_ref(&stays))).is_ok());
        assert!(ensure_one(&seen(&[goes])).is_err());
        assert!(ensure_one(&seen(&[stays.clone(), stays])).is_err());
    }
}
