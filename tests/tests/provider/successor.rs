//! The leader dies in the middle of an upgrade.

use anyhow::Result;
use careen_tests::fleet::images::LATEST;
use careen_tests::management::Management;
use careen_tests::replica::Replica;
use provider::names;
use serde_json::json;

#[tokio::test]
async fn second_replica_finishes_an_upgrade_after_the_leader_dies() -> Result<()> {
    let scene = Management::new("succeeded").await?;
    let leader = Replica::start(&scene, "first").await?;
    leader.until_it_leads().await?;
    let other = Replica::start(&scene, "second").await?;
    scene.machine("succeeded", "succeeded-0", json!({})).await?;
    let requests = scene.requests_of("succeeded-0").await?;
    scene.ask("succeeded-0").await?;
    let id = scene.until_asked("succeeded-0", true).await?;
    scene.agent_works("succeeded-0", &id, "Trial").await?;
    scene
        .until_annotated("succeeded-0", names::SKIP_REMEDIATION, true)
        .await?;
    assert!(!other.leads().await?);
    drop(leader);
    // At this time no replica leads.
    scene.agent_upgrades("succeeded-0", &id).await?;
    for key in [names::SKIP_REMEDIATION, names::MARK, names::ASK] {
        scene.until_annotated("succeeded-0", key, false).await?;
    }
    assert!(other.leads().await?);
    let told = scene.condition("succeeded-0", names::CONDITION).await?;
    assert_eq!(told["status"], "True");
    let infra = scene.get("HostMachine", "succeeded-0").await?;
    assert_eq!(infra.data["status"]["version"], LATEST.version);
    assert_eq!(requests.so_far(), [id], "asked once");
    Ok(())
}
