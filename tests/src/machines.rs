//! Machines of Cluster API as a test looks at them.

use anyhow::{Result, ensure};
use kube::api::{DynamicObject, ListParams};
use kube::{Client, ResourceExt};
use serde_json::Value;
use vm_tests::cluster_api::objects;

use crate::world::PATIENCE;

/// A kind of Cluster API's core, in one namespace.
///
/// # Errors
/// Never, for the version is well formed.
pub fn core(client: &Client, kind: &str, namespace: &str) -> Result<kube::Api<DynamicObject>> {
    let kind = objects::kind("cluster.x-k8s.io/v1beta2", kind)?;
    Ok(objects::api(client, &kind, Some(namespace)))
}

/// Where core notes the hooks that it still has to call.
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
    /// Its name, also its Node's.
    #[must_use]
    pub fn name(&self) -> String {
        self.0.name_any()
    }

    /// Its UID: another one is another Machine.
    #[must_use]
    pub fn uid(&self) -> String {
        self.0.uid().unwrap_or_default()
    }

    /// Whether its node carries a control plane.
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

    /// Core has asked for its update, or is about to: its specification is the new one.
    #[must_use]
    pub fn awaits_update(&self) -> bool {
        let pending = self.0.annotations().get(PENDING_HOOKS);
        pending.is_some_and(|hooks| hooks.contains("UpdateMachine"))
    }

    /// An annotation's value; empty when there is none.
    #[must_use]
    pub fn annotation(&self, key: &str) -> &str {
        self.0.annotations().get(key).map_or("", String::as_str)
    }

    /// Up to date in this version, and serving.
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

/// All Machines of a Cluster, once there are so many and each serves in this version.
///
/// # Errors
/// When that does not come: says how they are instead.
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

/// Waits until Cluster API's own count of a MachineDeployment says that so many Machines are available.
///
/// A MachineSet's count comes after its Machines'. A version that changes before it is up to date finds a MachineSet with nothing
/// available, and core then scales it down without asking whether it could be updated in place (v1.14.2, `machinedeployment`'s
/// rolling update: it takes what is not available to cost no availability).
///
/// # Errors
/// When that does not come.
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

/// All Machines of a Cluster, once this holds of them.
///
/// # Errors
/// When that does not come: says how they are instead.
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

/// One line for each.
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

/// Names and UIDs, to see that none was replaced.
#[must_use]
pub fn identities(machines: &[Machine]) -> Vec<(String, String)> {
    machines
        .iter()
        .map(|machine| (machine.name(), machine.uid()))
        .collect()
}
