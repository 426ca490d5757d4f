//! What a template says of its hosts, for the cluster autoscaler.

use anyhow::{Result, ensure};
use hosts_tests::{Running, Scene};
use infrastructure::Policy;
use kube::api::Api;
use provider::kinds::{CareenHost, CareenMachineTemplate};
use serde_json::json;

#[tokio::test]
async fn template_shows_the_least_of_its_hosts() -> Result<()> {
    let scene = Scene::new("templates").await?;
    let _provider = Running::start(&scene.admin, "templates", Policy::default()).await?;
    scene.host("small").await?;
    scene
        .apply(&json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1", "kind": "CareenMachineTemplate",
            "metadata": { "name": "workers" }, "spec": { "template": { "spec": {} } },
        }))
        .await?;
    until_cpu(&scene, Some("8")).await?;
    scene.host("smaller").await?;
    let said = json!({ "phase": "Available", "capacity": { "cpu": "2", "memory": "32Gi" } });
    scene.say("smaller", &said).await?;
    until_cpu(&scene, Some("2")).await?;
    for name in ["small", "smaller"] {
        let out = json!({ "spec": { "approved": false } });
        scene.change::<CareenHost>(name, out).await?;
    }
    until_cpu(&scene, None).await
}

async fn until_cpu(scene: &Scene, cpu: Option<&str>) -> Result<()> {
    let templates: Api<CareenMachineTemplate> = scene.all();
    scene
        .until("the template is up to date", || async {
            let status = templates.get("workers").await?.status.unwrap_or_default();
            let shown = status.capacity.get("cpu").map(String::as_str);
            let system = status.node_info.clone().unwrap_or_default();
            ensure!(shown == cpu, "{status:?}");
            ensure!(
                cpu.is_none() || system.operating_system == "linux",
                "{status:?}"
            );
            Ok(())
        })
        .await
}
