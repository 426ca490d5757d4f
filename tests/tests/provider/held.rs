//! What holds a rollout, and what does not.

use anyhow::Result;
use careen_tests::management::Management;
use careen_tests::replica::Replica;
use provider::names;
use serde_json::json;

#[tokio::test]
async fn bad_image_is_not_tried_on_another_annotated_node() -> Result<()> {
    let scene = Management::new("bad-image").await?;
    let _replica = Replica::start(&scene, "one").await?;
    scene.owner("MachineDeployment", "w").await?;
    let (first, second) = ("bad-image-0", "bad-image-1");
    for name in [first, second] {
        let labels = json!({ names::DEPLOYMENT_LABEL: "w" });
        scene.machine(&scene.space, name, labels).await?;
    }
    scene.ask(first).await?;
    let id = scene.until_asked(first, true).await?;
    scene.agent_fails(first, &id, "CheckFailed").await?;
    scene
        .until_reason(first, names::CONDITION, "CheckFailed")
        .await?;
    scene.ask(second).await?;
    scene
        .until_reason(second, names::CONDITION, "OthersFailed")
        .await?;
    scene.until_asked(second, false).await?;
    let again = json!({ "metadata": { "annotations": { names::RETRY: "1" } } });
    scene.change("Machine", first, again).await?;
    scene
        .until_reason(first, names::CONDITION, "InProgress")
        .await?;
    scene.until_asked(second, false).await.map(drop)
}

/// The API server accepts a value here that the MachineDeployment's webhook would reject. A Machine
/// outside that MachineDeployment must not depend on it.
#[tokio::test]
async fn deployment_with_an_invalid_value_blocks_no_machine() -> Result<()> {
    let scene = Management::new("unreadable").await?;
    scene.owner("MachineDeployment", "odd").await?;
    let odd = json!({ "spec": { "rollout": { "strategy": { "rollingUpdate": { "maxUnavailable": -1 } } } } });
    scene.change("MachineDeployment", "odd", odd).await?;
    let _replica = Replica::start(&scene, "one").await?;
    scene
        .machine(&scene.space, "unreadable-0", json!({}))
        .await?;
    scene.ask("unreadable-0").await?;
    scene.until_asked("unreadable-0", true).await.map(drop)
}
