//! The hosts and machines, as a host, core and an operator write them.

use anyhow::{Result, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use provider::kinds::policies::OF_A_HOST;
use provider::kinds::{self, CareenHost, CareenMachine, FINALIZER};
use provider::names;
use serde_json::{Value, json};
use testkit::cluster_api::objects;

use super::scene::{PATIENCE, Scene};

/// The namespace of everything.
pub const SPACE: &str = "hosts";

/// The Cluster.
pub const CLUSTER: &str = "c";

/// The Secret with the bootstrap data of all machines.
pub const DATA: &str = "data";

/// The label by which careen-provider finds the Lease of a host.
const HOST_LABEL: &str = "careen.dev/host";

/// The number of concurrent writes.
pub const AT_ONCE: usize = 32;

/// The image that all hosts run.
const IMAGE: &str = "ostree:site:site/stable/x86_64/node@1111111111111111111111111111111111111111111111111111111111111111";

/// The name of a host.
pub fn name(number: usize) -> String {
    format!("rack-{:03}-host-{number:05}", number / 40)
}

/// The name of a Machine and its CareenMachine.
pub fn machine_name(number: usize) -> String {
    format!("workers-5k2xq-{number:05}")
}

/// The hosts of the namespace.
pub fn all_hosts(client: &Client) -> Api<CareenHost> {
    Api::namespaced(client.clone(), SPACE)
}

/// Creates this many hosts that are let in and available, with what careen-provider has made for
/// each. The labels and the status are those of a host on a real machine.
pub async fn hosts(admin: &Client, count: usize) -> Result<()> {
    eprintln!("{count} hosts: writing them");
    let each = (0..count).map(|number| host(admin, number));
    stream::iter(each)
        .buffer_unordered(AT_ONCE)
        .try_for_each(|()| async { Ok(()) })
        .await
}

async fn host(admin: &Client, number: usize) -> Result<()> {
    let api = all_hosts(admin);
    let (name, rack) = (name(number), format!("rack-{:03}", number / 40));
    let object = json!({
        "apiVersion": format!("{}/{}", kinds::HOSTS, kinds::VERSION), "kind": "CareenHost",
        "metadata": {
            "name": name, "namespace": SPACE, "finalizers": [FINALIZER],
            "labels": { "site": "north", "rack": rack, "machine.example.com/model": "r640" },
        },
        "spec": { "registration": "north", "approved": true, "failureDomain": format!("room-{}", number % 3) },
    });
    let object = serde_json::from_value(object)?;
    let made = api.create(&PostParams::default(), &object).await?;
    let of_it = json!({
        "name": format!("{OF_A_HOST}{name}"), "namespace": SPACE, "labels": { HOST_LABEL: name },
        "ownerReferences": [{
            "apiVersion": format!("{}/{}", kinds::HOSTS, kinds::VERSION), "kind": "CareenHost",
            "name": name, "uid": made.uid(),
        }],
    });
    let secrets: Api<Secret> = Api::namespaced(admin.clone(), SPACE);
    let secret = serde_json::from_value(json!({ "metadata": of_it }))?;
    secrets.create(&PostParams::default(), &secret).await?;
    let leases: Api<Lease> = Api::namespaced(admin.clone(), SPACE);
    let lease = serde_json::from_value(json!({ "metadata": of_it, "spec": {} }))?;
    leases.create(&PostParams::default(), &lease).await?;
    say(&api, &name, &facts(number)).await
}

/// Merges this into the status of a host.
pub async fn say(api: &Api<CareenHost>, host: &str, status: &Value) -> Result<()> {
    let body = Patch::Merge(json!({ "status": status }));
    api.patch_status(host, &PatchParams::default(), &body)
        .await?;
    Ok(())
}

/// What a host says of its claim.
pub fn progress(phase: &str, step: &str, claim: Option<&str>) -> Value {
    json!({ "phase": phase, "step": step, "observedClaim": claim })
}

fn facts(number: usize) -> Value {
    json!({
        "hostname": name(number), "machineID": format!("{number:032x}"),
        "bootID": format!("0a1b2c3d-0000-4000-8000-{number:012}"),
        "addresses": [
            { "type": "InternalIP", "address": format!("10.{}.{}.7", number / 250, number % 250) },
            { "type": "InternalIP", "address": format!("fd00::{number:x}") },
            { "type": "Hostname", "address": name(number) },
        ],
        "architecture": "amd64", "capacity": { "cpu": "64", "memory": "263842820Ki" },
        "phase": "Available", "step": "Wait",
        "image": IMAGE, "imageVersion": "v1.36.3", "loader": "ok", "agent": { "version": "0.4.0" },
    })
}

/// Makes a Cluster, and Machines whose bootstrap data do not exist yet. Waits until each waits for
/// them.
pub async fn machines(scene: &Scene, count: usize) -> Result<()> {
    eprintln!("{count} machines: writing them");
    let mut cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": { "name": CLUSTER, "namespace": SPACE },
        "spec": { "infrastructureRef": { "apiGroup": kinds::GROUP, "kind": "CareenCluster", "name": CLUSTER } },
    });
    let made = objects::apply(&scene.admin, &cluster).await?;
    let ours = json!({
        "apiVersion": ours(), "kind": "CareenCluster", "metadata": owned(CLUSTER, "Cluster", &made),
        "spec": { "controlPlaneEndpoint": { "host": "10.0.0.10", "port": 6443 } },
    });
    let data = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": DATA, "namespace": SPACE },
        "stringData": { "value": format!("#cloud-config\n# {}", "x".repeat(6000)), "format": "cloud-config" },
    });
    objects::apply_all(&scene.admin, &[ours, data, template("a"), template("b")]).await?;
    cluster["status"] = json!({ "initialization": { "infrastructureProvisioned": true } });
    objects::apply(&scene.admin, &cluster).await?;
    stream::iter((0..count).map(|number| machine(&scene.admin, number)))
        .buffer_unordered(AT_ONCE)
        .try_for_each(|()| async { Ok(()) })
        .await?;
    let waiting = || async {
        let all: Api<CareenMachine> = Api::namespaced(scene.admin.clone(), SPACE);
        let all = all.list(&ListParams::default()).await?;
        let held = |one: &&CareenMachine| one.finalizers().iter().any(|name| name == FINALIZER);
        let said = |one: &&CareenMachine| one.status.is_some();
        let waiting = all.iter().filter(held).filter(said).count();
        ensure!(waiting == count, "{waiting} machines wait for data");
        Ok(())
    };
    objects::until("machines that wait", PATIENCE, waiting).await
}

/// Each MachineDeployment has one. Its status is made of all hosts.
fn template(name: &str) -> Value {
    json!({
        "apiVersion": ours(), "kind": "CareenMachineTemplate",
        "metadata": { "name": name, "namespace": SPACE },
        "spec": { "template": { "spec": wished() } },
    })
}

fn wished() -> Value {
    json!({
        "osImage": IMAGE, "hostSelector": { "matchLabels": { "site": "north" } },
        "minimum": { "cpu": "8", "memory": "32Gi" },
    })
}

async fn machine(admin: &Client, number: usize) -> Result<()> {
    let name = machine_name(number);
    let machine = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": { "name": name, "namespace": SPACE, "labels": label() },
        "spec": { "clusterName": CLUSTER, "version": "v1.36.3", "bootstrap": {} },
    });
    let made = objects::apply(admin, &machine).await?;
    let ours = json!({
        "apiVersion": ours(), "kind": "CareenMachine", "metadata": owned(&name, "Machine", &made),
        "spec": wished(),
    });
    objects::apply(admin, &ours).await.map(drop)
}

fn ours() -> String {
    format!("{}/{}", kinds::GROUP, kinds::VERSION)
}

fn label() -> Value {
    json!({ names::CLUSTER_LABEL: CLUSTER })
}

fn owned(name: &str, kind: &str, owner: &DynamicObject) -> Value {
    let owner = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind, "name": name,
        "uid": owner.uid(), "controller": true,
    });
    json!({ "name": name, "namespace": SPACE, "labels": label(), "ownerReferences": [owner] })
}
