//! MachineHealthChecks of a Cluster on the in-memory provider. The kubelets that the tests play
//! (`upgrade`) do not report since when a node is not Ready. Such a node therefore exceeds every
//! timeout, and Cluster API replaces it at the first check.

use anyhow::{Result, ensure};
use kube::api::GroupVersionKind;
use provider::names;
use serde_json::json;
use testkit::cluster_api::cluster::Cluster;
use testkit::cluster_api::objects;

use crate::cluster::PATIENCE;

/// The check of the control plane.
pub const CONTROL_PLANE: &str = "control-plane";

const GROUP: &str = "cluster.x-k8s.io";
const VERSION: &str = "v1beta2";
const KIND: &str = "MachineHealthCheck";

/// Creates a check for the control plane, as [`Cluster::health_check`] does for a
/// MachineDeployment.
///
/// # Errors
/// When the API server refuses.
pub async fn check_control_plane(cluster: &Cluster, seconds: u32) -> Result<()> {
    let bad =
        |status: &str| json!({ "type": "Ready", "status": status, "timeoutSeconds": seconds });
    let object = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": KIND,
        "metadata": { "name": CONTROL_PLANE, "namespace": cluster.name },
        "spec": {
            "clusterName": cluster.name,
            "selector": { "matchLabels": { names::CONTROL_PLANE_LABEL: "" } },
            "checks": { "unhealthyNodeConditions": [bad("False"), bad("Unknown")] },
        },
    });
    objects::apply(&cluster.client, &object).await?;
    Ok(())
}

/// Waits until a check counts this many Machines and finds all of them healthy. The check leaves
/// out Machines with skipped remediation.
///
/// # Errors
/// When that state does not come. The error contains the check's own report.
pub async fn until_checked(cluster: &Cluster, check: &str, count: usize) -> Result<()> {
    let kind = GroupVersionKind::gvk(GROUP, VERSION, KIND);
    let api = objects::api(&cluster.client, &kind, Some(&cluster.name));
    let ask = || async {
        let status = api.get(check).await?.data["status"].clone();
        let counted = [&status["expectedMachines"], &status["currentHealthy"]];
        ensure!(counted == [&json!(count), &json!(count)], "{status}");
        Ok(())
    };
    objects::until(&format!("health check {check}"), PATIENCE, ask).await
}
