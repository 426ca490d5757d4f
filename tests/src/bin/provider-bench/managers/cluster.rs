//! The Cluster as its owner writes it. The rig's own Cluster has one API server for both sides, and
//! this one has two.

use anyhow::{Context, Result};
use careen_tests::fleet::images::FIRST;
use k8s_openapi::ByteString;
use kube::Client;
use kube::api::{Patch, PatchParams};
use provider::names;
use serde_json::{Value, json};
use testkit::cluster_api::cluster::{Cluster, Rolling};
use testkit::cluster_api::{infrastructure, objects};
use testkit::control_plane::ControlPlane;

use crate::machines::SPACE;

/// The Cluster in the first version, with a control plane that exists from the start.
pub async fn create(admin: &Client, workload: &ControlPlane) -> Result<Cluster> {
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": SPACE } });
    objects::apply(admin, &space).await?;
    objects::apply_all(admin, &secrets(workload)?).await?;
    let endpoint = json!({ "host": "127.0.0.1", "port": workload.api_port() });
    provisioned(admin, &endpoint).await?;
    let control_plane = json!({
        "apiGroup": "controlplane.rig.careen.dev", "kind": "RigControlPlane", "name": SPACE,
    });
    let infrastructure =
        json!({ "apiGroup": infrastructure::GROUP, "kind": "RigCluster", "name": SPACE });
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": named(SPACE),
        "spec": {
            "controlPlaneEndpoint": endpoint, "controlPlaneRef": control_plane, "infrastructureRef": infrastructure,
        },
    });
    objects::apply(admin, &cluster).await?;
    let cluster = Cluster {
        client: admin.clone(),
        name: SPACE.to_owned(),
    };
    cluster.control_plane_reaches(FIRST.version).await?;
    Ok(cluster)
}

/// Names and sizes of two MachineDeployments that share this many Machines. All Machines may be
/// unavailable at the same time.
pub fn deployments(machines: usize) -> Result<[(&'static str, u32); 2]> {
    let half = u32::try_from(machines / 2)?;
    let rest = u32::try_from(machines)? - half;
    Ok([("workers-0", rest), ("workers-1", half)])
}

/// All of a MachineDeployment's Machines may be unavailable, so that all are in flight.
pub fn all_at_once(replicas: u32) -> Rolling {
    Rolling {
        max_surge: 0,
        max_unavailable: replicas,
    }
}

/// The credentials of core and careen-provider for the workload cluster, and the authority that a
/// joining node trusts.
fn secrets(workload: &ControlPlane) -> Result<[Value; 2]> {
    let read = |file: &str| {
        let file = workload.dir().join(file);
        let content = std::fs::read(&file);
        let content = content.with_context(|| format!("cannot read {}", file.display()))?;
        anyhow::Ok(ByteString(content))
    };
    let secret = |suffix: &str, data: Value| {
        let mut metadata = named(&format!("{SPACE}{suffix}"));
        metadata["labels"] = json!({ names::CLUSTER_LABEL: SPACE });
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret", "metadata": metadata, "data": data,
        })
    };
    let kubeconfig = ByteString(std::fs::read(workload.admin_kubeconfig())?);
    let pair = json!({ "tls.crt": read("pki/ca.crt")?, "tls.key": read("pki/ca.key")? });
    Ok([
        secret(
            names::KUBECONFIG_SUFFIX,
            json!({ names::KUBECONFIG_KEY: kubeconfig }),
        ),
        secret("-ca", pair),
    ])
}

/// The RigCluster. Its provider has no work left.
async fn provisioned(admin: &Client, endpoint: &Value) -> Result<()> {
    let version = format!("{}/{}", infrastructure::GROUP, infrastructure::VERSION);
    let object = json!({
        "apiVersion": version, "kind": "RigCluster", "metadata": named(SPACE),
        "spec": { "controlPlaneEndpoint": endpoint },
    });
    objects::apply(admin, &object).await?;
    let ready = json!({
        "type": "Ready", "status": "True", "reason": "ItIs", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let status =
        json!({ "status": { "initialization": { "provisioned": true }, "conditions": [ready] } });
    let kind = objects::kind(&version, "RigCluster")?;
    let api = objects::api(admin, &kind, Some(SPACE));
    api.patch_status(SPACE, &PatchParams::default(), &Patch::Merge(status))
        .await?;
    Ok(())
}

fn named(name: &str) -> Value {
    json!({ "name": name, "namespace": SPACE })
}
