//! The kubeconfig of a workload cluster changes while the provider runs.

use anyhow::Result;
use careen_tests::cluster::plane;
use careen_tests::management::Management;
use careen_tests::replica::Replica;
use careen_tests::wire::Wire;
use serde_json::json;

#[tokio::test]
async fn rotated_kubeconfig_is_loaded_when_the_old_one_is_refused() -> Result<()> {
    let scene = Management::new("rotated").await?;
    let _replica = Replica::start(&scene, "one").await?;
    for name in ["rotated-0", "rotated-1"] {
        scene.machine("rotated", name, json!({})).await?;
    }
    scene.ask("rotated-0").await?;
    scene.until_asked("rotated-0", true).await?;
    scene
        .allow("second", &["get", "list", "watch", "patch"])
        .await?;
    let old = scene.kubeconfig_in_use("rotated").await?;
    let second = Wire::to(plane().await?.api_port()).await?;
    scene.give_kubeconfig("rotated", "second", &second).await?;
    scene.take_back("rotated-workload", old).await?;
    scene.ask("rotated-1").await?;
    scene.until_asked("rotated-1", true).await?;
    assert!(second.connections() > 0, "by the new way");
    Ok(())
}
