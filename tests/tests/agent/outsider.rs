//! Clients without rights on Nodes: a pod with its default account, and a person with their own
//! namespace.

use anyhow::Result;
use careen_tests::cluster::plane;
use careen_tests::node::{TestNode, annotation};
use careen_tests::pods::Namespace;
use provider::manifests;
use serde_json::json;
use testkit::cluster_api::account::kubeconfig_of;
use testkit::cluster_api::objects;
use upgrade::names;

use crate::captured::{node, ship_rights, within};
use crate::hand::{Hand, Try, get, patch};

/// A client with a token of this account.
async fn holder(of: &TestNode, account: (&str, &str)) -> Result<Hand> {
    let content = kubeconfig_of(plane().await?, &of.admin, account).await?;
    Hand::with(content).await
}

/// A request for an upgrade, its withdrawal, an answer, and a read.
fn meddling(of: &TestNode) -> Vec<Try> {
    let place = node(&of.name);
    let asked =
        json!({ "metadata": { "annotations": { names::REQUEST: names::REQUEST_SCHEDULED } } });
    let withdrawn = json!({ "metadata": { "annotations": { names::REQUEST: null } } });
    let answered = json!({ "metadata": { "annotations": { names::ANSWER: "Upgraded" } } });
    vec![
        patch(&place, asked),
        patch(&place, withdrawn),
        patch(format!("{place}/status"), answered),
        patch(&place, json!({ "spec": { "unschedulable": true } })),
        get(place),
        get("/api/v1/nodes"),
    ]
}

#[tokio::test]
async fn a_pod_can_neither_ask_for_an_upgrade_nor_read_of_one() -> Result<()> {
    let of = TestNode::new("pod-asks").await?;
    ship_rights(&of.admin).await?;
    let space = Namespace::new(&of).await?;
    let hand = holder(&of, (&space.name, "default")).await?;
    hand.may_not(&meddling(&of)).await?;
    assert_eq!(annotation(&of.now().await?, names::REQUEST), "");
    Ok(())
}

#[tokio::test]
async fn namespace_admin_has_no_more_rights_on_nodes_than_a_pod() -> Result<()> {
    let of = TestNode::new("person-asks").await?;
    ship_rights(&of.admin).await?;
    let space = Namespace::new(&of).await?;
    let rbac = "rbac.authorization.k8s.io";
    let binding = json!({
        "apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding",
        "metadata": { "name": "person", "namespace": space.name },
        "roleRef": { "apiGroup": rbac, "kind": "ClusterRole", "name": "admin" },
        "subjects": [{ "kind": "ServiceAccount", "name": "default", "namespace": space.name }],
    });
    objects::apply(&of.admin, &binding).await?;
    let hand = holder(&of, (&space.name, "default")).await?;
    hand.comes_to(&get(within(&space.name, "secrets"))).await?;
    hand.may_not(&meddling(&of)).await?;
    hand.may_not(&[get(within(manifests::NAMESPACE, "secrets"))])
        .await
}

#[tokio::test]
async fn provider_token_cannot_write_nodes_of_its_own_cluster() -> Result<()> {
    let of = TestNode::new("provider-asks").await?;
    ship_rights(&of.admin).await?;
    let proof = json!({ "name": "proof", "namespace": manifests::NAMESPACE });
    let proof = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": proof });
    objects::apply(&of.admin, &proof).await?;
    let account = (manifests::NAMESPACE, provider::names::MANAGER);
    let hand = holder(&of, account).await?;
    // This request succeeds with the account's own rights, so they are in force from then on.
    hand.comes_to(&get(within(manifests::NAMESPACE, "secrets/proof")))
        .await?;
    hand.may_not(&meddling(&of)).await
}
