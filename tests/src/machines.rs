//! Machines of Cluster API as a test sees them.

use anyhow::{Result, ensure};
use kube::api::{DynamicObject, ListParams};
use kube::{Client, ResourceExt};
use serde_json::Value;
use testkit::cluster_api::objects;

use crate::cluster::PATIENCE;

/// A kind of Cluster API's core, in one namespace.
///
/// # Errors
/// Never, because the version is well formed.
pub fn core(client: &Client, kind: &str, namespace: &str) -> Result<kube::Api<DynamicObject>> {
    let kind = objects::kind("cluster.x-k8s.io/v1beta2", kind)?;
    Ok(objects::api(client, &kind, Some(namespace)))
}

/// The annotation in which core records the hooks that it still has to call.
const PENDING_HOOKS: &str = "runtime.cluster.x-k8s.io/pending-hooks";

/// One Machine.
#[derive(Clone, Debug)]
pub struct Machine(DynamicObject);

impl From<DynamicObject> for Machine {
    fn from(object: DynamicObject) -> Self {
        Self(object)
    }
}

impl Machine {
    /// Its name, which is also the name of its Node.
    #[must_use]
    pub fn name(&self) -> String {
        self.0.name_any()
    }

    /// Its UID. A different UID means a different Machine.
    #[must_use]
    pub fn uid(&self) -> String {
        self.0.uid().unwrap_or_default()
    }

    /// Whether its node runs a control plane.
    #[must_use]
    pub fn is_control_plane(&self) -> bool {
        let label = provider::names::CONTROL_PLANE_LABEL;
        self.0.labels().contains_key(label)
    }

    /// The version that it asks for.
    #[must_use]
    pub fn version(&self) -> &str {
        self.text("/spec/version")
    }

    /// The version that its Node reports.
    #[must_use]
    pub fn running(&self) -> &str {
        self.text("/status/nodeInfo/kubeletVersion")
    }

    /// A condition's status, empty when there is none.
    #[must_use]
    pub fn is(&self, condition: &str) -> bool {
        self.condition(condition)["status"] == "True"
    }

    /// A condition's message, empty when there is none.
    #[must_use]
    pub fn message(&self, condition: &str) -> &str {
        self.condition(condition)["message"]
            .as_str()
            .unwrap_or_default()
    }

    /// A condition's reason, empty when there is none.
    #[must_use]
    pub fn reason(&self, condition: &str) -> &str {
        self.condition(condition)["reason"]
            .as_str()
            .unwrap_or_default()
    }

    /// Whether core has asked for its update, or is about to ask: its specification has the new
    /// version.
    #[must_use]
    pub fn awaits_update(&self) -> bool {
        let pending = self.0.annotations().get(PENDING_HOOKS);
        pending.is_some_and(|hooks| hooks.contains("UpdateMachine"))
    }

    /// An annotation's value, empty when there is none.
    #[must_use]
    pub fn annotation(&self, key: &str) -> &str {
        self.0.annotations().get(key).map_or("", String::as_str)
    }

    /// Whether it is up to date in this version, and serves.
    #[must_use]
    pub fn serves(&self, version: &str) -> bool {
        self.version() == version
            && self.running() == version
            && self.is("Available")
            && self.is("UpToDate")
    }

    fn condition(&self, word: &str) -> &Value {
        let conditions = self.0.data.pointer("/status/conditions");
        conditions
            .and_then(Value::as_array)
            .and_then(|all| all.iter().find(|condition| condition["type"] == word))
            .unwrap_or(&Value::Null)
    }

    fn text(&self, pointer: &str) -> &str {
        let found = self.0.data.pointer(pointer);
        found.and_then(Value::as_str).unwrap_or_default()
    }
}

/// All Machines of a Cluster, by name.
///
/// # Errors
/// When the API server does not answer.
pub async fn all(client: &Client, cluster: &str) -> Result<Vec<Machine>> {
    let api = core(client, "Machine", cluster)?;
    let mut machines = api.list(&ListParams::default()).await?.items;
    machines.sort_by_key(ResourceExt::name_any);
    Ok(machines.into_iter().map(Machine).collect())
}

/// Returns all Machines of a Cluster, as soon as there are `count` Machines and each serves in this
/// version.
///
/// # Errors
/// When that state does not come. The error describes the Machines.
pub async fn until_all_serve(
    client: &Client,
    cluster: &str,
    count: usize,
    version: &str,
) -> Result<Vec<Machine>> {
    let what = format!("{count} machines of {cluster} serving in {version}");
    let serve = |machines: &[Machine]| {
        machines.len() == count && machines.iter().all(|one| one.serves(version))
    };
    until(client, cluster, &what, serve).await
}

/// Waits until Cluster API's own count of a MachineDeployment says that this many Machines are
/// available.
///
/// A MachineSet updates its count after its Machines change. If the version changes before the
/// count is up to date, core finds a MachineSet with nothing available. Core then scales the
/// MachineSet down and does not ask whether an in-place update is possible. (v1.14.2, rolling
/// update of `machinedeployment`: it assumes that the removal of unavailable Machines costs no
/// availability.)
///
/// # Errors
/// When that count does not come.
pub async fn until_counted(client: &Client, cluster: &str, name: &str, count: u32) -> Result<()> {
    let sets = core(client, "MachineSet", cluster)?;
    let deployments = core(client, "MachineDeployment", cluster)?;
    let available = |object: &DynamicObject| object.data["status"]["availableReplicas"].as_u64();
    let its_own =
        ListParams::default().labels(&format!("{}={name}", provider::names::DEPLOYMENT_LABEL));
    let ask = || async {
        let deployment = deployments.get(name).await?;
        let sets = sets.list(&its_own).await?.items;
        let of_sets: u64 = sets.iter().filter_map(available).sum();
        let counted = (available(&deployment), of_sets);
        let wanted = u64::from(count);
        ensure!(counted == (Some(wanted), wanted), "{counted:?}");
        Ok(())
    };
    objects::until("the Machines counted", PATIENCE, ask).await
}

/// Returns all Machines of a Cluster, as soon as the condition is true for them.
///
/// # Errors
/// When the condition does not become true. The error describes the Machines.
pub async fn until(
    client: &Client,
    cluster: &str,
    what: &str,
    holds: impl Fn(&[Machine]) -> bool,
) -> Result<Vec<Machine>> {
    let ask = || async {
        let machines = all(client, cluster).await?;
        ensure!(holds(&machines), "{}", describe(&machines));
        Ok(machines)
    };
    objects::until(what, PATIENCE, ask).await
}

/// One line for each Machine.
#[must_use]
pub fn describe(machines: &[Machine]) -> String {
    let line = |machine: &Machine| {
        let conditions = ["Ready", "UpToDate"]
            .map(|word| format!("{word}={} {:?}", machine.is(word), machine.message(word)));
        let (name, version) = (machine.name(), machine.version());
        format!(
            "{name} {version} (runs {:?}) {}",
            machine.running(),
            conditions.join(" ")
        )
    };
    machines.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Names and UIDs, to prove that no Machine was replaced.
#[must_use]
pub fn identities(machines: &[Machine]) -> Vec<(String, String)> {
    machines
        .iter()
        .map(|machine| (machine.name(), machine.uid()))
        .collect()
}
