//! What the command writes to Nodes, and when it writes nothing.

use anyhow::{Result, ensure};
use careen_tests::machine::{NEW_IMAGE, OLD_IMAGE};
use careen_tests::node::{TestNode, annotation};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, Patch, PatchParams};
use kubectl::exit::Exit;
use serde_json::json;
use upgrade::names;

use crate::person::{all_nodes, answer, careen, careen_answering, label, own_nodes, run, value};

#[tokio::test]
async fn repeated_upgrade_command_makes_one_request() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("asked").await?;
    let line = format!(
        "upgrade {} --image {NEW_IMAGE} --kubernetes-version v1.36.3 --yes",
        node.name
    );
    let ran = careen(&line).await?.with(Exit::Done)?;
    ensure!(
        ran.out == format!("{}: asked for {NEW_IMAGE}\n", node.name),
        "{ran:?}"
    );
    let asked = node.now().await?;
    assert_eq!(annotation(&asked, names::REQUEST), names::REQUEST_SCHEDULED);
    assert_eq!(annotation(&asked, names::IMAGE), NEW_IMAGE);
    assert_eq!(annotation(&asked, names::KUBERNETES_VERSION), "v1.36.3");
    let id = annotation(&asked, names::UPGRADE_ID);
    ensure!(id.starts_with("k-"), "{id}");
    careen(&line).await?.with(Exit::Done)?;
    assert_eq!(annotation(&node.now().await?, names::UPGRADE_ID), id);
    Ok(())
}

#[tokio::test]
async fn a_dry_run_is_checked_by_the_server_and_changes_nothing() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("dry").await?;
    let line = format!(
        "upgrade {} --image {NEW_IMAGE} --dry-run -o json",
        node.name
    );
    let data = careen(&line).await?.with(Exit::Done)?.data()?;
    ensure!(
        data[0]["done"] == "asked" && data[0]["dryRun"] == true,
        "{data}"
    );
    assert_eq!(value(&node.now().await?, names::REQUEST), None);
    Ok(())
}

#[tokio::test]
async fn nothing_is_asked_without_consent() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("consent").await?;
    let line = format!("upgrade {} --image {NEW_IMAGE}", node.name);
    careen(&line).await?.with(Exit::Declined)?;
    careen_answering(&line, "n\n").await?.with(Exit::Declined)?;
    assert_eq!(value(&node.now().await?, names::REQUEST), None);
    let ran = careen_answering(&line, "y\n").await?.with(Exit::Done)?;
    ensure!(ran.err.contains("It drains and reboots"), "{ran:?}");
    assert_ne!(value(&node.now().await?, names::REQUEST), None);
    Ok(())
}

#[tokio::test]
async fn a_request_is_taken_back_until_the_node_is_armed() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("cancelled").await?;
    node.ask_for(NEW_IMAGE).await?;
    answer(
        &node,
        "InProgress",
        json!({ "phase": "Armed", "percent": 55 }),
    )
    .await?;
    let ran = careen(&format!("cancel {}", node.name))
        .await?
        .with(Exit::Refused)?;
    ensure!(ran.out.contains("too late"), "{ran:?}");
    answer(
        &node,
        "InProgress",
        json!({ "phase": "Deployed", "percent": 35 }),
    )
    .await?;
    careen(&format!("cancel {}", node.name))
        .await?
        .with(Exit::Done)?;
    let after = node.now().await?;
    for key in [
        names::REQUEST,
        names::IMAGE,
        names::KUBERNETES_VERSION,
        names::UPGRADE_ID,
    ] {
        assert_eq!(value(&after, key), None, "{key}");
    }
    assert_ne!(
        value(&after, names::ANSWER),
        None,
        "the agent's own words stay"
    );
    Ok(())
}

#[tokio::test]
async fn what_selects_no_node_is_an_error() -> Result<()> {
    let _own = own_nodes().await;
    TestNode::new("unselected").await?;
    let ask = format!("--image {NEW_IMAGE} --yes");
    let ran = careen(&format!("upgrade -l careen-test/nobody=yes {ask}"))
        .await?
        .with(Exit::Missing)?;
    ensure!(ran.err.contains("careen-test/nobody=yes"), "{ran:?}");
    careen(&format!("upgrade no-such-node {ask}"))
        .await?
        .with(Exit::Missing)?;
    careen("status no-such-node").await?.with(Exit::Missing)?;
    Ok(())
}

/// To the API server it is a bad request, and on the command line it is a usage error.
#[tokio::test]
async fn a_selector_that_is_none_is_a_wrong_command_line() -> Result<()> {
    let _own = own_nodes().await;
    let ran = careen("status -l a=(b").await?.with(Exit::Usage)?;
    ensure!(ran.err.contains("--selector \"a=(b\""), "{ran:?}");
    let line = format!("upgrade nobody --image {NEW_IMAGE} --yes --timeout 5s");
    let ran = careen(&line).await?.with(Exit::Usage)?;
    ensure!(ran.err.contains("--timeout needs --watch"), "{ran:?}");
    Ok(())
}

#[tokio::test]
async fn a_selector_asks_each_of_its_nodes_and_no_other() -> Result<()> {
    let _own = own_nodes().await;
    let nodes = [
        TestNode::new("chosen").await?,
        TestNode::new("chosen").await?,
    ];
    let other = TestNode::new("other").await?;
    for node in &nodes {
        label(node, "careen-test/chosen").await?;
    }
    careen(&format!(
        "upgrade -l careen-test/chosen=yes --image {NEW_IMAGE} --yes"
    ))
    .await?
    .with(Exit::Done)?;
    for node in &nodes {
        assert_eq!(annotation(&node.now().await?, names::IMAGE), NEW_IMAGE);
    }
    assert_eq!(value(&other.now().await?, names::IMAGE), None);
    Ok(())
}

#[tokio::test]
async fn retry_creates_a_new_request_id_and_upgrade_does_not() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("retried").await?;
    let upgrade = format!("upgrade {} --image {NEW_IMAGE} --yes", node.name);
    careen(&upgrade).await?.with(Exit::Done)?;
    let first = value(&node.now().await?, names::UPGRADE_ID);
    let retry = format!("retry {} --yes", node.name);
    careen(&retry).await?.with(Exit::Refused)?;
    answer(
        &node,
        "Failed",
        json!({ "code": "UserCheck", "reason": "required check disk failed" }),
    )
    .await?;
    let ran = careen(&upgrade).await?.with(Exit::Refused)?;
    ensure!(ran.out.contains("required check disk failed"), "{ran:?}");
    assert_eq!(value(&node.now().await?, names::UPGRADE_ID), first);
    careen(&retry).await?.with(Exit::Done)?;
    let again = node.now().await?;
    assert_ne!(value(&again, names::UPGRADE_ID), first);
    assert_eq!(annotation(&again, names::IMAGE), NEW_IMAGE);
    Ok(())
}

#[tokio::test]
async fn rollback_requests_the_kept_system_and_again_only_with_a_flag() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("back").await?;
    node.ask_for(NEW_IMAGE).await?;
    answer(&node, "Upgraded", json!({})).await?;
    careen(&format!("rollback {} --yes", node.name))
        .await?
        .with(Exit::Done)?;
    assert_eq!(
        annotation(&node.now().await?, names::IMAGE),
        names::KEPT_IMAGE
    );
    answer(&node, "Upgraded", json!({})).await?;
    let id = value(&node.now().await?, names::UPGRADE_ID);
    let ran = careen(&format!("rollback {} --yes --watch", node.name))
        .await?
        .with(Exit::Done)?;
    ensure!(ran.err.contains("gone back already"), "{ran:?}");
    assert_eq!(value(&node.now().await?, names::UPGRADE_ID), id);
    careen(&format!("rollback {} --yes --again", node.name))
        .await?
        .with(Exit::Done)?;
    assert_ne!(value(&node.now().await?, names::UPGRADE_ID), id);
    Ok(())
}

#[tokio::test]
async fn an_upgrade_under_way_is_not_disturbed_by_another() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("undisturbed").await?;
    node.ask_for(NEW_IMAGE).await?;
    answer(
        &node,
        "InProgress",
        json!({ "phase": "Fetched", "percent": 15 }),
    )
    .await?;
    let ran = careen(&format!("upgrade {} --image {OLD_IMAGE} --yes", node.name))
        .await?
        .with(Exit::Refused)?;
    ensure!(ran.out.contains("under way (Fetched, 15 %)"), "{ran:?}");
    assert_eq!(annotation(&node.now().await?, names::IMAGE), NEW_IMAGE);
    Ok(())
}

#[tokio::test]
async fn pause_marks_existing_nodes_and_resume_lifts_only_its_reason() -> Result<()> {
    let _all = all_nodes().await;
    let nodes = [
        TestNode::new("paused").await?,
        TestNode::new("paused").await?,
    ];
    let other = TestNode::new("paused-before").await?;
    other.annotate(json!({ names::PAUSED: "an audit" })).await?;
    let ran = careen("pause --reason holidays").await?.with(Exit::Done)?;
    ensure!(
        ran.err
            .contains("nodes that join from now on are not paused"),
        "{ran:?}"
    );
    for node in &nodes {
        assert_eq!(annotation(&node.now().await?, names::PAUSED), "holidays");
    }
    assert_eq!(
        annotation(&other.now().await?, names::PAUSED),
        "an audit",
        "somebody else's reason stays"
    );
    ensure!(
        ran.out
            .contains(&format!("{}: paused already: an audit", other.name)),
        "{ran:?}"
    );
    let paused = async |node: &TestNode| anyhow::Ok(value(&node.now().await?, names::PAUSED));
    let ran = careen("resume").await?.with(Exit::Refused)?;
    ensure!(ran.out.contains("reason of its own: holidays"), "{ran:?}");
    for node in nodes.iter().chain([&other]) {
        ensure!(paused(node).await?.is_some(), "{}", node.name);
    }
    let ran = careen("resume --reason holidays").await?.with(Exit::Done)?;
    ensure!(
        ran.out
            .contains(&format!("{}: left as it is, paused: an audit", other.name)),
        "{ran:?}"
    );
    for node in &nodes {
        assert_eq!(paused(node).await?, None);
    }
    assert_eq!(
        paused(&other).await?.as_deref(),
        Some("an audit"),
        "the auditor still wants the pause"
    );
    careen("resume --any-reason").await?.with(Exit::Done)?;
    assert_eq!(paused(&other).await?, None);
    Ok(())
}

/// Every write depends on the Node as the command read it. A kubelet, an agent and controllers also
/// write the Node.
#[tokio::test]
async fn whoever_else_writes_the_node_meanwhile_is_no_obstacle() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("busy").await?;
    let (nodes, name): (Api<Node>, String) = (node.nodes(), node.name.clone());
    let others = tokio::spawn(async move {
        for number in 0.. {
            let label =
                json!({ "metadata": { "labels": { "careen-test/number": format!("{number}") } } });
            let _ = nodes
                .patch(&name, &PatchParams::default(), &Patch::Merge(label))
                .await;
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    });
    for _ in 0..10 {
        careen(&format!("pause {}", node.name))
            .await?
            .with(Exit::Done)?;
        careen(&format!("resume {}", node.name))
            .await?
            .with(Exit::Done)?;
    }
    others.abort();
    assert_eq!(value(&node.now().await?, names::PAUSED), None);
    Ok(())
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_from_one_that_says_no() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("nowhere.conf");
    let content = json!({
        "current-context": "c",
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
        "clusters": [{ "name": "c", "cluster": { "server": "http://127.0.0.1:1" } }],
        "users": [{ "name": "u", "user": {} }],
    });
    std::fs::write(&kubeconfig, content.to_string())?;
    let ran = run(&kubeconfig, "status", None)
        .await?
        .with(Exit::Unreachable)?;
    ensure!(ran.err.contains("cannot reach the API server"), "{ran:?}");
    run(&folder.path().join("none"), "status", None)
        .await?
        .with(Exit::Unreachable)?;
    Ok(())
}
