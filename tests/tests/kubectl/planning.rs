//! The command requests a plan from the node's agent, and does not wait for an agent that does not
//! answer.

use anyhow::{Result, ensure};
use careen_tests::machine::NEW_IMAGE;
use careen_tests::node::{TestNode, annotation};
use careen_tests::pods::Namespace;
use k8s_openapi::api::core::v1::Node;
use kubectl::exit::Exit;
use serde_json::{Value, json};
use upgrade::names;

use crate::person::{careen, own_nodes, value};

/// Answers the next plan request as an agent does.
async fn answers(node: &TestNode, mut plan: Value) -> Result<()> {
    let asked = |node: &Node| !annotation(node, names::PLAN).is_empty();
    let question = annotation(&node.until("a question", &asked).await?, names::PLAN).to_owned();
    plan["asked"] = json!(question);
    node.annotate(json!({ names::PLAN_RESULT: plan.to_string() }))
        .await
}

fn kubelet() -> Value {
    json!({ "at": 1, "kubelet": { "from": "v1.35.4", "to": "v1.36.3" } })
}

#[tokio::test]
async fn a_plan_is_the_nodes_answer_and_the_pods_that_are_seen() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("planned").await?;
    let space = Namespace::new(&node).await?;
    space.run("web", json!({})).await?;
    let line = format!("plan {} --image {NEW_IMAGE}", node.name);
    let mut plan = kubelet();
    plan["moving"] = json!([format!("{}/web", space.name)]);
    let (ran, answered) = tokio::join!(careen(&line), answers(&node, plan));
    answered?;
    let ran = ran?.with(Exit::Done)?;
    ensure!(ran.out.contains("v1.35.4 -> v1.36.3"), "{ran:?}");
    ensure!(ran.out.contains(&format!("{}/web", space.name)), "{ran:?}");
    assert_eq!(
        value(&node.now().await?, names::PLAN),
        None,
        "the question is taken off again"
    );
    Ok(())
}

#[tokio::test]
async fn plan_shows_no_moving_pods_when_the_node_drains_none() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("planned-still").await?;
    let space = Namespace::new(&node).await?;
    space.run("web", json!({})).await?;
    let line = format!("plan {} --image {NEW_IMAGE} -o json", node.name);
    let (ran, answered) = tokio::join!(careen(&line), answers(&node, kubelet()));
    answered?;
    assert_eq!(ran?.with(Exit::Done)?.data()?["pods"], json!([]));
    Ok(())
}

#[tokio::test]
async fn what_would_be_refused_ends_so() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("planned-bad").await?;
    let line = format!("plan {} --image {NEW_IMAGE} -o json", node.name);
    let refusal = json!({ "at": 1, "code": "NoRoom", "reason": "/boot has 2 bytes free" });
    let (ran, answered) = tokio::join!(careen(&line), answers(&node, refusal));
    answered?;
    let data = ran?.with(Exit::Failed)?.data()?;
    assert_eq!(data["plan"]["code"], "NoRoom");
    Ok(())
}

#[tokio::test]
async fn plan_ignores_an_older_answer_and_reports_an_absent_agent() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("unplanned").await?;
    let mut old = kubelet();
    old["asked"] = json!(NEW_IMAGE);
    node.annotate(json!({ names::PLAN_RESULT: old.to_string() }))
        .await?;
    let line = format!("plan {} --image {NEW_IMAGE} --timeout 1s", node.name);
    let ran = careen(&line).await?.with(Exit::Timeout)?;
    ensure!(
        ran.err.contains("no agent has ever written to this Node"),
        "{ran:?}"
    );
    ensure!(!ran.out.contains("v1.36.3"), "{ran:?}");
    assert_eq!(value(&node.now().await?, names::PLAN), None);
    Ok(())
}
