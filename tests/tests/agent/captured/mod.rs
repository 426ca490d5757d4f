//! A stolen node: an attacker with root on it and the kubelet's credential, in a cluster that
//! manages itself, so that all shipped Careen rights are in force. Each request that would reach
//! further has a counterpart on the own node, which is allowed.

mod certificates;
mod data;
mod pods;

use anyhow::Result;
use careen_tests::node::{TestNode, annotation, condition};
use kube::Client;
use provider::{manifests, rights};
use serde_json::json;
use testkit::cluster_api::objects;
use upgrade::names::{self, Kind, Name};

use crate::hand::{Hand, Try, delete, patch, post};

/// The own node, a neighbour, and the credential of the own kubelet.
async fn captured(word: &str) -> Result<(TestNode, TestNode, Hand)> {
    let (own, other) = (
        TestNode::new(word).await?,
        TestNode::new("neighbour").await?,
    );
    ship_rights(&own.admin).await?;
    let hand = Hand(own.as_kubelet().await?);
    Ok((own, other, hand))
}

pub async fn ship_rights(admin: &Client) -> Result<()> {
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": manifests::NAMESPACE } });
    objects::apply(admin, &space).await?;
    objects::apply_all(admin, &rights::objects(manifests::NAMESPACE)).await
}

pub fn node(name: &str) -> String {
    format!("/api/v1/nodes/{name}")
}

pub fn within(space: &str, rest: &str) -> String {
    format!("/api/v1/namespaces/{space}/{rest}")
}

/// All keys that the requester or the agent writes on a Node.
fn keys() -> impl Iterator<Item = &'static str> {
    let written = |row: &&Name| ["requester", "agent"].contains(&row.writer);
    let ours = names::TABLE.iter().filter(written);
    ours.filter(|row| row.kind == Kind::Annotation)
        .map(|row| row.name)
}

/// Each key and the condition, written in both possible ways.
fn forgeries(name: &str) -> Vec<Try> {
    let place = node(name);
    let status = format!("{place}/status");
    let ours =
        json!({ "type": names::CONDITION, "status": "True", "reason": "Trial", "message": "" });
    let mut tries = vec![patch(
        &status,
        json!({ "status": { "conditions": [ours] } }),
    )];
    for key in keys() {
        let body = json!({ "metadata": { "annotations": { key: "forged" } } });
        tries.extend([patch(&place, body.clone()), patch(&status, body)]);
    }
    tries
}

#[tokio::test]
async fn another_nodes_request_and_answer_cannot_be_forged() -> Result<()> {
    let (own, other, hand) = captured("forges").await?;
    hand.may(&forgeries(&own.name)).await?;
    hand.may_not(&forgeries(&other.name)).await?;
    let node = other.now().await?;
    assert!(keys().all(|key| annotation(&node, key).is_empty()));
    assert_eq!(condition(&node), None);
    Ok(())
}

#[tokio::test]
async fn a_node_under_another_name_can_be_neither_made_nor_taken_away() -> Result<()> {
    let (own, other, hand) = captured("names").await?;
    let new = |name: &str| post("/api/v1/nodes", json!({ "metadata": { "name": name } }));
    assert_eq!(
        hand.code(&new(&own.name)).await?,
        409,
        "it is there already"
    );
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    let lease = |name: &str| post(leases, json!({ "metadata": { "name": name } }));
    hand.may(&[lease(&own.name)]).await?;
    let tries = [
        new("ghost"),
        new(&other.name),
        delete(node(&other.name)),
        lease(&other.name),
    ];
    hand.may_not(&tries).await?;
    other.now().await.map(drop)
}

#[tokio::test]
async fn no_right_can_be_added_to_the_ones_that_it_has() -> Result<()> {
    let (own, _other, hand) = captured("climbs").await?;
    let rbac = "rbac.authorization.k8s.io";
    let user = format!("system:node:{}", own.name);
    let binding = json!({
        "metadata": { "name": "climbed" },
        "roleRef": { "apiGroup": rbac, "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "apiGroup": rbac, "kind": "User", "name": user }],
    });
    let role = json!({ "rules": [{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }] });
    let account = format!("serviceaccounts/{}/token", provider::names::MANAGER);
    let tries = [
        post(format!("/apis/{rbac}/v1/clusterrolebindings"), binding),
        patch(format!("/apis/{rbac}/v1/clusterroles/system:node"), role),
        patch(
            "/apis/certificates.k8s.io/v1/certificatesigningrequests/any/approval",
            json!({}),
        ),
        post(
            within(manifests::NAMESPACE, &account),
            json!({ "spec": {} }),
        ),
    ];
    hand.may_not(&tries).await
}
