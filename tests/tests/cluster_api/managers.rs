//! The managers themselves: they run, and their webhooks are in force.

use anyhow::{Context, Result};
use careen_tests::machines::core;
use careen_tests::world;
use kube::api::PostParams;
use serde_json::{Value, json};

use crate::VERSION;

/// A MachineDeployment that leaves every possible field to defaulting.
fn deployment(cluster: &str) -> Value {
    let reference =
        |group: &str, kind: &str| json!({ "apiGroup": group, "kind": kind, "name": "a" });
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "metadata": { "name": "defaulted" },
        "spec": {
            "clusterName": cluster, "selector": {},
            "template": { "spec": {
                "clusterName": cluster, "version": "v1.35.4",
                "bootstrap": { "configRef": reference("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate") },
                "infrastructureRef": reference("infrastructure.rig.careen.dev", "RigMachineTemplate"),
            } },
        },
    })
}

#[test]
fn managers_set_defaults_and_reject_invalid_objects() -> Result<()> {
    world::run(VERSION, |world| async move {
        world.managers.lock().await.check()?;
        let api = core(&world.client, "MachineDeployment", "default")?;
        let dry = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let object = serde_json::from_value(deployment("some"))?;
        let made = api.create(&dry, &object).await?;
        assert_eq!(made.data.pointer("/spec/replicas"), Some(&json!(1)));
        assert_eq!(
            made.data
                .pointer("/spec/template/metadata/labels/cluster.x-k8s.io~1deployment-name"),
            Some(&json!("defaulted")),
        );
        let mut wrong = deployment("some");
        wrong["spec"]["template"]["spec"]["clusterName"] = json!("other");
        let refused = api.create(&dry, &serde_json::from_value(wrong)?).await;
        let refused = refused.err().context("it was let through")?.to_string();
        assert!(refused.contains("denied the request"), "{refused}");
        Ok(())
    })
}
