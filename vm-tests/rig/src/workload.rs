//! The node's workload: one small Deployment with a PodDisruptionBudget, which by default allows an
//! eviction.

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Client, ResourceExt};
use serde_json::json;

use crate::patience::within;

/// The name of the Deployment, which begins the names of its pods.
pub const NAME: &str = "web";

/// The command of a container that does nothing until it is told to end. `sleep` alone, as the
/// first process of a container, ignores SIGTERM, and systemd waits 90 s for it at a shutdown.
pub const UNTIL_STOPPED: [&str; 3] = ["sh", "-c", "trap 'exit 0' TERM; sleep infinity & wait"];

/// The name of the budget, which no pod's name holds.
pub const BUDGET: &str = "one-at-a-time";

/// Creates both in `default`.
///
/// # Errors
///
/// Fails when the API server refuses.
pub async fn create(client: &Client) -> Result<()> {
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": {"name": NAME},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": NAME}},
            "template": {
                "metadata": {"labels": {"app": NAME}},
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "automountServiceAccountToken": false,
                    "containers": [{
                        "name": NAME,
                        "image": "localhost/busybox:rig",
                        "imagePullPolicy": "Never",
                        "command": UNTIL_STOPPED,
                    }],
                },
            },
        },
    }))?;
    let budget: PodDisruptionBudget = serde_json::from_value(json!({
        "metadata": {"name": BUDGET},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": NAME}}},
    }))?;
    Api::default_namespaced(client.clone())
        .create(&PostParams::default(), &deployment)
        .await?;
    Api::default_namespaced(client.clone())
        .create(&PostParams::default(), &budget)
        .await?;
    Ok(())
}

/// Sets how many pods may be unavailable at once. 0 never allows an eviction.
///
/// # Errors
///
/// Fails when the API server refuses.
pub async fn allow_unavailable(client: &Client, pods: u32) -> Result<()> {
    let api: Api<PodDisruptionBudget> = Api::default_namespaced(client.clone());
    let patch = json!({"spec": {"maxUnavailable": pods}});
    api.patch(BUDGET, &PatchParams::default(), &Patch::Merge(patch))
        .await?;
    // Evictions are judged by the status, which the controller writes a moment later.
    let judged = |found: Option<&PodDisruptionBudget>| {
        let status = found.and_then(|budget| budget.status.as_ref());
        status.is_some_and(|status| (status.disruptions_allowed > 0) == (pods > 0))
    };
    let wait = await_condition(api.clone(), BUDGET, judged);
    within(Duration::from_secs(30), wait)
        .await
        .context("the budget's status did not follow")??;
    Ok(())
}

/// Makes the Deployment's pods tolerate every taint, a cordon among them.
///
/// # Errors
///
/// Fails when the API server refuses.
pub async fn tolerate_everything(client: &Client) -> Result<()> {
    let api: Api<Deployment> = Api::default_namespaced(client.clone());
    let tolerations = json!([{"operator": "Exists"}]);
    let patch = json!({"spec": {"template": {"spec": {"tolerations": tolerations}}}});
    api.patch(NAME, &PatchParams::default(), &Patch::Merge(patch))
        .await?;
    Ok(())
}

/// Waits until the Deployment's pod runs.
///
/// # Errors
///
/// Fails when it does not in time.
pub async fn wait_until_running(client: &Client, limit: Duration) -> Result<()> {
    let api: Api<Deployment> = Api::default_namespaced(client.clone());
    let available = |found: Option<&Deployment>| {
        let status = found.and_then(|deployment| deployment.status.as_ref());
        status
            .and_then(|status| status.available_replicas)
            .unwrap_or(0)
            > 0
    };
    let wait = await_condition(api, NAME, available);
    within(limit, wait)
        .await
        .with_context(|| format!("the pod does not run after {limit:?}"))??;
    Ok(())
}

/// Deletes the Deployment and waits until its pods are gone.
///
/// # Errors
///
/// Fails when the API server refuses or a pod stays.
pub async fn remove(client: &Client) -> Result<()> {
    let api: Api<Deployment> = Api::default_namespaced(client.clone());
    api.delete(NAME, &kube::api::DeleteParams::foreground())
        .await?;
    let wait = await_condition(api, NAME, |found: Option<&Deployment>| found.is_none());
    within(Duration::from_secs(90), wait)
        .await
        .context("the pod does not go")??;
    Ok(())
}

/// The names of the Deployment's pods, also of those that wait for a node.
///
/// # Errors
///
/// Fails when the API server does not answer.
pub async fn pods(client: &Client) -> Result<Vec<String>> {
    let api: Api<Pod> = Api::default_namespaced(client.clone());
    let list = api
        .list(&kube::api::ListParams::default().labels(&format!("app={NAME}")))
        .await?;
    Ok(list.iter().map(ResourceExt::name_any).collect())
}
