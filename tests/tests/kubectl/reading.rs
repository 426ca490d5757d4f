//! How the command shows Nodes.

use anyhow::{Context, Result, ensure};
use careen_tests::cluster::plane;
use careen_tests::machine::NEW_IMAGE;
use careen_tests::node::TestNode;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, PostParams};
use kubectl::exit::Exit;
use serde_json::json;
use upgrade::names;

use crate::person::{answer, careen, own_nodes};

#[tokio::test]
async fn the_status_of_nodes_in_several_phases_is_a_table_and_data() -> Result<()> {
    let _own = own_nodes().await;
    let idle = TestNode::new("shown-idle").await?;
    let trial = TestNode::new("shown-trial").await?;
    trial.ask_for(NEW_IMAGE).await?;
    answer(
        &trial,
        "InProgress",
        json!({ "phase": "Trial", "percent": 60, "toVersion": "v1.36.3" }),
    )
    .await?;
    let failed = TestNode::new("shown-failed").await?;
    failed.ask_for(NEW_IMAGE).await?;
    answer(
        &failed,
        "Failed",
        json!({ "code": "UserCheck", "reason": "required check disk failed" }),
    )
    .await?;
    let names = format!("{} {} {}", idle.name, trial.name, failed.name);
    let ran = careen(&format!("status {names}")).await?.with(Exit::Done)?;
    let row = |name: &str| {
        let row = ran.out.lines().find(|line| line.starts_with(name));
        // The durations so far of the other tests' nodes do not matter here.
        let known = |word: &&str| !word.starts_with('~');
        row.map(|row| {
            row.split_whitespace()
                .filter(known)
                .collect::<Vec<_>>()
                .join(" ")
        })
    };
    assert_eq!(row(&idle.name), Some(format!("{} - v1.35.4", idle.name)));
    let expected = format!(
        "{} Trial 60% v1.35.4 -> v1.36.3 the new system runs on trial and is being checked",
        trial.name
    );
    assert_eq!(row(&trial.name), Some(expected));
    let expected = format!("{} Failed v1.35.4 required check disk failed", failed.name);
    assert_eq!(row(&failed.name), Some(expected));
    let data = careen(&format!("status {names} -o json")).await?.data()?;
    let states: Vec<_> = data
        .as_array()
        .context("a list")?
        .iter()
        .map(|one| one["state"].clone())
        .collect();
    assert_eq!(states, ["Idle", "Working", "Failed"]);
    let yaml = careen(&format!("status {names} -o yaml"))
        .await?
        .with(Exit::Done)?;
    ensure!(yaml.out.contains("code: UserCheck"), "{yaml:?}");
    Ok(())
}

#[tokio::test]
async fn all_nodes_are_shown_where_none_is_named() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("all").await?;
    let ran = careen("status").await?.with(Exit::Done)?;
    ensure!(ran.out.contains(&node.name), "{ran:?}");
    Ok(())
}

/// The API server itself reports the age of a request. When a Node has content at its creation, as
/// a kubelet's Node does, the server records which client wrote which field and when (kubernetes
/// apimachinery, managedfields `skipNonAppliedManager`).
#[tokio::test]
async fn a_node_that_does_not_answer_is_explained() -> Result<()> {
    let _own = own_nodes().await;
    let nodes: Api<Node> = Api::all(plane().await?.client().await?);
    let made = json!({ "metadata": { "name": "silent", "labels": { "kubernetes.io/hostname": "silent" } } });
    nodes
        .create(&PostParams::default(), &serde_json::from_value(made)?)
        .await?;
    careen(&format!("upgrade silent --image {NEW_IMAGE} --yes"))
        .await?
        .with(Exit::Done)?;
    let ran = careen("explain silent").await?.with(Exit::Done)?;
    ensure!(ran.out.contains("  asked          20"), "{ran:?}");
    ensure!(ran.out.contains("its kubelet has not reported"), "{ran:?}");
    let data = careen("explain silent -o json").await?.data()?;
    ensure!(
        data["state"] == "Asked" && data["findings"].is_array(),
        "{data}"
    );
    Ok(())
}

/// The words of a table, without column widths and empty cells.
fn words(table: &str) -> String {
    table.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_history_is_the_agents_own_and_without_one_the_last_upgrade() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("past").await?;
    let history = format!("history {}", node.name);
    let ran = careen(&history).await?.with(Exit::Done)?;
    ensure!(
        ran.out.is_empty() && ran.err.contains("no upgrade"),
        "{ran:?}"
    );
    node.ask_for(NEW_IMAGE).await?;
    let reached = json!([{ "phase": "Accepted", "at": 1_700_000_000 }, { "phase": "Failed", "at": 1_700_000_090 }]);
    answer(
        &node,
        "Failed",
        json!({ "code": "UserCheck", "reached": reached }),
    )
    .await?;
    let ran = careen(&history).await?.with(Exit::Done)?;
    ensure!(ran.err.contains("keeps no history"), "{ran:?}");
    ensure!(
        words(&ran.out).contains("2023-11-14 22:13:20Z 1m30s UserCheck edge/stable 1"),
        "{ran:?}"
    );
    let past = json!([{ "answer": "Upgraded", "image": NEW_IMAGE, "began": 1_700_000_000, "ended": 1_700_000_060, "tries": 1 }]);
    node.annotate(json!({ names::HISTORY: past.to_string() }))
        .await?;
    let ran = careen(&history).await?.with(Exit::Done)?;
    ensure!(
        ran.err.is_empty() && words(&ran.out).contains("1m00s Upgraded edge/stable 1"),
        "{ran:?}"
    );
    let all = careen("history -o json").await?.data()?;
    let ours = all.as_array().into_iter().flatten();
    let ours = ours.filter(|told| told["node"] == node.name.as_str());
    let lasted: Vec<_> = ours.map(|told| (&told["began"], &told["ended"])).collect();
    let expected = (json!(1_700_000_000), json!(1_700_000_060));
    ensure!(lasted == [(&expected.0, &expected.1)], "{all}");
    Ok(())
}
