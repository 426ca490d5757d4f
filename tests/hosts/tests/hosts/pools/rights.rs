//! Careen-provider has the right to delete any Machine. A policy bounds it.

use anyhow::{Context, Result, ensure};
use hosts_tests::{Scene, client_of};
use kube::Client;
use kube::api::DeleteParams;
use provider::{manifests, names};
use serde_json::{Value, json};
use testkit::cluster_api::objects;

/// The refusal, or nothing.
async fn deleted(
    client: &Client,
    space: &str,
    (version, kind): (&str, &str),
) -> Result<Option<String>> {
    let kind = objects::kind(version, kind)?;
    let all = objects::api(client, &kind, Some(space));
    let deleted = all.delete("one", &DeleteParams::default()).await;
    Ok(deleted.err().map(|error| error.to_string()))
}

#[tokio::test]
async fn provider_deletes_only_the_machines_of_pools() -> Result<()> {
    let scene = Scene::new("pool-rights").await?;
    let own = client_of(&scene.admin, manifests::NAMESPACE, names::MANAGER).await?;
    let kinds = [
        ("cluster.x-k8s.io/v1beta2", "Machine"),
        ("infrastructure.cluster.x-k8s.io/v1alpha1", "CareenMachine"),
    ];
    for (version, kind) in kinds {
        let object = |labels: Value| {
            json!({
                "apiVersion": version, "kind": kind,
                "metadata": { "name": "one", "namespace": "pool-rights", "labels": labels }, "spec": {},
            })
        };
        let (alone, of_a_pool) = (json!({}), json!({ names::POOL_LABEL: "w" }));
        scene.apply(&object(alone.clone())).await?;
        // The role of a new account counts a moment after it is made.
        let bounded = || async {
            let refused = deleted(&own, "pool-rights", (version, kind)).await?;
            let refused = refused.with_context(|| format!("{kind} is deleted"))?;
            ensure!(refused.contains("only the machines of pools"), "{refused}");
            Ok(())
        };
        scene.until("the policy refuses it", bounded).await?;

        scene.apply(&object(of_a_pool)).await?;
        assert_eq!(deleted(&own, "pool-rights", (version, kind)).await?, None);
        let made = objects::apply(&own, &object(alone)).await;
        ensure!(made.is_err(), "{kind} is made without a pool");
    }
    Ok(())
}
