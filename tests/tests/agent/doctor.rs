//! The doctor's requests to the API server.

use agent::cluster::{Cluster, SILENCE};
use agent::doctor::{self, Finding, Verdict};
use anyhow::Result;
use careen_tests::node::TestNode;
use kube::api::DeleteParams;
use serde_json::json;
use upgrade::names;

async fn findings(node: &TestNode) -> Vec<Finding> {
    doctor::server(&Cluster::new(&node.kubeconfig, SILENCE)).await
}

/// Each check with its verdict.
fn verdicts(findings: &[Finding]) -> Vec<(&'static str, Verdict)> {
    let pair = |finding: &Finding| (finding.name, finding.verdict);
    findings.iter().map(pair).collect()
}

#[tokio::test]
async fn a_node_that_the_server_has_and_nobody_keeps_out_is_well() -> Result<()> {
    let node = TestNode::new("well").await?;
    let found = findings(&node).await;
    assert_eq!(verdicts(&found), [("api-server", Verdict::Ok)]);
    assert!(found[0].found.contains(&node.name), "{found:?}");
    Ok(())
}

#[tokio::test]
async fn doctor_reports_opt_out_and_pause_with_reason_and_remedy() -> Result<()> {
    let node = TestNode::new("kept-out").await?;
    let why = json!({ names::OPT_OUT: "holds the only GPU", names::PAUSED: "an audit" });
    node.annotate(why).await?;
    let found = findings(&node).await;
    let wanted = [
        ("api-server", Verdict::Ok),
        ("opt-out", Verdict::Bad),
        ("paused", Verdict::Warn),
    ];
    assert_eq!(verdicts(&found), wanted);
    let told = [
        ("holds the only GPU", names::OPT_OUT),
        ("an audit", names::PAUSED),
    ];
    for (finding, (why, key)) in found[1..].iter().zip(told) {
        assert!(finding.found.ends_with(why), "{finding:?}");
        assert!(finding.fix.contains(key), "{finding:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_node_that_is_not_registered_is_no_fault_of_the_network() -> Result<()> {
    let node = TestNode::new("gone").await?;
    let nodes = node.nodes();
    nodes.delete(&node.name, &DeleteParams::default()).await?;
    let found = findings(&node).await;
    assert_eq!(verdicts(&found), [("api-server", Verdict::Bad)]);
    assert!(found[0].found.contains("has no Node"), "{found:?}");
    assert!(found[0].fix.contains("kubelet"), "{found:?}");
    Ok(())
}
