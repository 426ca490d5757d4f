//! A refusal becomes a reason, and not a silent wait.

use anyhow::Result;
use careen_tests::management::Management;
use careen_tests::replica::Replica;
use provider::names;
use serde_json::json;

#[tokio::test]
async fn node_is_not_asked_while_its_infra_machine_refuses_conditions() -> Result<()> {
    let scene = Management::new("refusing").await?;
    let _replica = Replica::start(&scene, "one").await?;
    scene.machine("refusing", "refusing-0", json!({})).await?;
    let refuse = |refuses: bool| json!({ "spec": { "refuses": refuses } });
    scene
        .change("HostMachine", "refusing-0", refuse(true))
        .await?;
    scene.ask("refusing-0").await?;
    let note = scene.until_event("refusing-0", "Unwritten").await?;
    assert!(note.contains("this one keeps its conditions"), "{note}");
    scene.until_asked("refusing-0", false).await?;
    scene
        .until_annotated("refusing-0", names::SKIP_REMEDIATION, false)
        .await?;
    scene
        .change("HostMachine", "refusing-0", refuse(false))
        .await?;
    scene.until_asked("refusing-0", true).await.map(drop)
}

/// A kubeconfig without write permission on Nodes.
#[tokio::test]
async fn forbidden_node_write_is_reported_in_condition_and_to_core() -> Result<()> {
    let scene = Management::new("forbidden").await?;
    scene.allow("reader", &["get", "list", "watch"]).await?;
    scene
        .give_kubeconfig("forbidden", "reader", &scene.wire)
        .await?;
    let replica = Replica::start(&scene, "one").await?;
    scene.machine("forbidden", "forbidden-0", json!({})).await?;
    scene.ask("forbidden-0").await?;
    let said = scene
        .until_reason("forbidden-0", names::CONDITION, "Unwritten")
        .await?;
    let message = said["message"].as_str().unwrap_or_default();
    assert!(message.contains("forbidden"), "{message}");

    scene.machine("forbidden", "forbidden-1", json!({})).await?;
    scene.update("forbidden-1").await?;
    let bundle = scene.until_trusted(&replica).await?;
    let call = scene.update_call("forbidden-1");
    let said = || async {
        let answer = replica
            .call(&bundle, "UpdateMachine/update-machine", call.clone())
            .await?;
        let message = answer["message"].as_str().unwrap_or_default();
        anyhow::ensure!(message.contains("could not update"), "{answer}");
        anyhow::ensure!(answer["retryAfterSeconds"].as_i64() >= Some(1), "{answer}");
        Ok(())
    };
    scene.until("core is told", said).await
}
