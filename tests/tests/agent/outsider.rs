//! Who has no rights on Nodes: a pod with the account that it is given, and a person with a namespace of their own.

use anyhow::Result;
use careen_tests::cluster::plane;
use careen_tests::node::{TestNode, annotation};
use careen_tests::pods::Namespace;
use provider::manifests;
use serde_json::json;
use upgrade::names;
use vm_tests::cluster_api::account::kubeconfig_of;
use vm_tests::cluster_api::objects;

use crate::captured::{node, ship_rights, within};
use crate::hand::{Hand, Try, get, patch};

/// With a token of this account.
async fn holder(of: &TestNode, account: (&str, &str)) -> Result<Hand> {
    let content = kubeconfig_of(plane().await?, &of.admin, account).await?;
    Hand::with(content).await
}

/// Asking, taking back, answering, and looking.
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
    // By its own rights, which are in force then.
    hand.comes_to(&get(within(manifests::NAMESPACE, "secrets/proof")))
        .await?;
    hand.may_not(&meddling(&of)).await
}
