//! A node that does not answer.

use anyhow::{Result, ensure};
use careen_tests::management::Management;
use careen_tests::replica::Replica;
use kube::api::{Patch, PatchParams};
use provider::engine::Policy;
use provider::names;
use serde_json::json;

/// Makes its API server show a sign of life: the provider calls no node silent before that.
async fn is_heard(scene: &Management, node: &str) -> Result<()> {
    let now = provider::clock::now().to_string();
    let change = json!({ "metadata": { "labels": { "careen.dev/test": now } } });
    let how = PatchParams::default();
    scene
        .nodes()
        .patch(node, &how, &Patch::Merge(change))
        .await?;
    Ok(())
}

#[tokio::test]
async fn unanswered_node_is_reported_and_regains_its_health_check() -> Result<()> {
    let scene = Management::new("silent").await?;
    let policy = Policy {
        answer_seconds: 2,
        ..Policy::default()
    };
    let _replica = Replica::start_with(&scene, "one", policy).await?;
    scene.machine("silent", "silent-0", json!({})).await?;
    scene.ask("silent-0").await?;
    let id = scene.until_asked("silent-0", true).await?;
    let silent = || async {
        is_heard(&scene, "silent-0").await?;
        let said = scene.condition("silent-0", names::CONDITION).await?;
        ensure!(said["reason"] == "NoAnswer", "{said}");
        Ok(said)
    };
    let said = scene.until("NoAnswer", silent).await?;
    let message = said["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("Check that careen-agent runs there."),
        "{message}"
    );
    scene
        .until_annotated("silent-0", names::SKIP_REMEDIATION, false)
        .await?;
    scene.until_annotated("silent-0", names::MARK, true).await?;
    scene.agent_works("silent-0", &id, "Trial").await?;
    scene
        .until_reason("silent-0", names::CONDITION, "InProgress")
        .await?;
    scene
        .until_annotated("silent-0", names::SKIP_REMEDIATION, true)
        .await
}
