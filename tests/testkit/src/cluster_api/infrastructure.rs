//! The rig's own infrastructure provider. It implements Cluster API's contract v1beta2 for a
//! RigMachine and leaves the hosts to an implementation of [`Hosts`].
//!
//! Its definitions are in `cluster-api/infrastructure.yaml`. It reads a machine's specification
//! once, when it boots the host. Another component makes later changes in place, as the contract
//! requires of a provider.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use futures::StreamExt;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{definitions, manifests, objects};
use crate::programs;

/// The group of the rig's machines and clusters.
pub const GROUP: &str = "infrastructure.rig.careen.dev";

/// The version of all the rig's kinds.
pub const VERSION: &str = "v1alpha1";

const FINALIZER: &str = "rig.careen.dev/host";

/// The delay before it retries a host that did not boot.
const AGAIN: Duration = Duration::from_secs(1);

/// The specification of a host.
#[derive(Clone, Debug)]
pub struct Order {
    /// The machine's name, also the host's.
    pub name: String,
    /// The machine's namespace.
    pub namespace: String,
    /// The Kubernetes version that the Machine asks for.
    pub version: String,
    /// The image that the machine names.
    pub image: Option<String>,
    /// Whether it belongs to a control plane.
    pub control_plane: bool,
}

/// A host that runs.
#[derive(Clone, Debug)]
pub struct Host {
    /// The same text as in its Node's `spec.providerID`.
    pub provider_id: String,
    /// Its address.
    pub address: String,
}

/// Implements the hosts.
pub trait Hosts: Send + Sync + 'static {
    /// Boots a host. The provider calls it again after an error, and possibly after an Ok that it
    /// could not store: the same order is the same host.
    ///
    /// # Errors
    ///
    /// Fails when it does not boot now.
    fn boot(&self, order: Order) -> impl Future<Output = Result<Host>> + Send;

    /// Removes a host and its Node. A missing host counts as removed.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be removed now.
    fn scrap(&self, order: Order) -> impl Future<Output = Result<()>> + Send;
}

/// The running provider. Dropping it stops it; the hosts remain.
pub struct Infrastructure(JoinHandle<()>);

impl Drop for Infrastructure {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct World<H> {
    client: Client,
    hosts: H,
}

/// The error type of a reconciliation, as the controller requires it.
#[derive(Debug)]
struct Trouble(anyhow::Error);

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl std::error::Error for Trouble {}

impl Infrastructure {
    /// Installs the definitions and starts to serve machines. Cluster API's own definitions must
    /// exist.
    ///
    /// # Errors
    ///
    /// Fails when the API server refuses a definition.
    pub async fn start(client: Client, hosts: impl Hosts) -> Result<Self> {
        install_kinds(&client).await?;
        let machines = ApiResource::from_gvk(&machine_kind());
        let owners = ApiResource::from_gvk(&owner_kind());
        let api = Api::all_with(client.clone(), &machines);
        let of_owner = |owner: DynamicObject| machine_of(&owner);
        let world = Arc::new(World { client, hosts });
        let controller = Controller::new_with(api, watcher::Config::default(), machines)
            .watches_with(
                Api::all_with(world.client.clone(), &owners),
                owners,
                watcher::Config::default(),
                of_owner,
            )
            .run(reconcile, |_, _: &Trouble, _| Action::requeue(AGAIN), world);
        Ok(Self(tokio::spawn(controller.for_each(|_| async {}))))
    }
}

/// Installs the definitions of the rig's kinds.
///
/// # Errors
///
/// Fails when the API server refuses one.
pub async fn install_kinds(client: &Client) -> Result<()> {
    let file = programs::home().join("cluster-api/infrastructure.yaml");
    definitions::install(client, &manifests::read(&file)?).await
}

/// The kind of the rig's machines.
#[must_use]
pub fn machine_kind() -> GroupVersionKind {
    GroupVersionKind::gvk(GROUP, VERSION, "RigMachine")
}

fn owner_kind() -> GroupVersionKind {
    GroupVersionKind::gvk("cluster.x-k8s.io", "v1beta2", "Machine")
}

/// The rig's machine of a Machine, if it is one of ours.
fn machine_of(owner: &DynamicObject) -> Option<ObjectRef<DynamicObject>> {
    let reference = owner.data.pointer("/spec/infrastructureRef")?;
    if reference["apiGroup"] != GROUP {
        return None;
    }
    let resource = ApiResource::from_gvk(&machine_kind());
    let name = reference["name"].as_str()?;
    Some(ObjectRef::new_with(name, resource).within(&owner.namespace()?))
}

async fn reconcile<H: Hosts>(
    machine: Arc<DynamicObject>,
    world: Arc<World<H>>,
) -> Result<Action, Trouble> {
    let namespace = machine.namespace().unwrap_or_default();
    let api = objects::api(&world.client, &machine_kind(), Some(&namespace));
    let ended = if machine.metadata.deletion_timestamp.is_some() {
        scrap(&machine, &api, &world).await
    } else {
        provision(&machine, &api, &world).await
    };
    ended.map_err(Trouble)?;
    Ok(Action::await_change())
}

async fn provision<H: Hosts>(
    machine: &DynamicObject,
    api: &Api<DynamicObject>,
    world: &World<H>,
) -> Result<()> {
    let done = machine.data.pointer("/status/initialization/provisioned");
    if done == Some(&json!(true)) {
        return Ok(());
    }
    let Some(order) = order(machine, world).await? else {
        return Ok(());
    };
    hold(machine, api).await?;
    let host = world.hosts.boot(order.clone()).await?;
    let spec = json!({ "spec": { "providerID": host.provider_id } });
    merge(api, &order.name, spec).await?;
    let status = Patch::Merge(status(&order, &host));
    api.patch_status(&order.name, &PatchParams::default(), &status)
        .await?;
    Ok(())
}

/// Adds a finalizer that keeps the machine until its host is removed.
async fn hold(machine: &DynamicObject, api: &Api<DynamicObject>) -> Result<()> {
    let mut finalizers = machine.finalizers().to_vec();
    if !finalizers.iter().any(|name| name == FINALIZER) {
        finalizers.push(FINALIZER.to_owned());
        let change = json!({ "metadata": { "finalizers": finalizers } });
        merge(api, &machine.name_any(), change).await?;
    }
    Ok(())
}

/// None while the Machine has no bootstrap data yet. The contract requires the provider to wait for
/// it.
async fn order<H>(machine: &DynamicObject, world: &World<H>) -> Result<Option<Order>> {
    let namespace = machine.namespace().context("a machine in no namespace")?;
    let mut references = machine.owner_references().iter();
    let Some(owner) = references.find(|reference| reference.kind == "Machine") else {
        return Ok(None);
    };
    let owners = objects::api(&world.client, &owner_kind(), Some(&namespace));
    let Some(owner) = owners.get_opt(&owner.name).await? else {
        return Ok(None);
    };
    let text = |pointer: &str| owner.data.pointer(pointer).and_then(Value::as_str);
    if text("/spec/bootstrap/dataSecretName").is_none() {
        return Ok(None);
    }
    let image = machine
        .data
        .pointer("/spec/osImage")
        .and_then(Value::as_str);
    Ok(Some(Order {
        name: machine.name_any(),
        namespace,
        version: text("/spec/version").unwrap_or_default().to_owned(),
        image: image.map(str::to_owned),
        control_plane: owner
            .labels()
            .contains_key("cluster.x-k8s.io/control-plane"),
    }))
}

fn status(order: &Order, host: &Host) -> Value {
    let ready = json!({
        "type": "Ready", "status": "True", "reason": "HostRuns", "message": "",
        "lastTransitionTime": k8s_openapi::jiff::Timestamp::now().to_string(),
    });
    let address = json!({ "type": "InternalIP", "address": host.address });
    json!({ "status": {
        "initialization": { "provisioned": true },
        "version": order.version,
        "addresses": [address],
        "conditions": [ready],
    } })
}

async fn scrap<H: Hosts>(
    machine: &DynamicObject,
    api: &Api<DynamicObject>,
    world: &World<H>,
) -> Result<()> {
    if !machine.finalizers().iter().any(|name| name == FINALIZER) {
        return Ok(());
    }
    let order = Order {
        name: machine.name_any(),
        namespace: machine.namespace().unwrap_or_default(),
        version: String::new(),
        image: None,
        control_plane: false,
    };
    let name = order.name.clone();
    world.hosts.scrap(order).await?;
    let others = machine
        .finalizers()
        .iter()
        .filter(|name| *name != FINALIZER);
    let others: Vec<&String> = others.collect();
    merge(api, &name, json!({ "metadata": { "finalizers": others } })).await
}

async fn merge(api: &Api<DynamicObject>, name: &str, change: Value) -> Result<()> {
    api.patch(name, &PatchParams::default(), &Patch::Merge(change))
        .await?;
    Ok(())
}

/// The permissions that careen-provider needs for an infrastructure provider of another group.
#[must_use]
pub fn rights() -> Value {
    let rule = |resource: &str, verb: &str| json!({ "apiGroups": [GROUP], "resources": [resource], "verbs": [verb] });
    let labels = json!({ "careen.dev/aggregate-to-provider": "true" });
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": { "name": "careen-provider-rig", "labels": labels },
        "rules": [rule("rigmachines", "get"), rule("rigmachines/status", "patch")],
    })
}
