//! The data of pods: Secrets, ConfigMaps and tokens.

use anyhow::Result;
use careen_tests::node::TestNode;
use careen_tests::pods::Namespace;
use serde_json::json;
use testkit::cluster_api::objects;

use super::{captured, within};
use crate::hand::{Try, delete, get, patch, post};

/// A Secret and a ConfigMap that the pod `web` mounts, and one of each that no pod mounts.
async fn with_data(node: &TestNode) -> Result<Namespace> {
    let space = Namespace::new(node).await?;
    for (kind, name) in [
        ("Secret", "mounted"),
        ("Secret", "kept"),
        ("ConfigMap", "mounted"),
        ("ConfigMap", "kept"),
    ] {
        let metadata = json!({ "name": name, "namespace": space.name });
        objects::apply(
            &node.admin,
            &json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata }),
        )
        .await?;
    }
    let volumes = json!([
        { "name": "s", "secret": { "secretName": "mounted" } },
        { "name": "c", "configMap": { "name": "mounted" } },
    ]);
    space
        .run("web", json!({ "spec": { "volumes": volumes } }))
        .await?;
    Ok(space)
}

#[tokio::test]
async fn what_no_pod_of_the_node_mounts_cannot_be_read() -> Result<()> {
    let (own, other, hand) = captured("reads").await?;
    let theirs = with_data(&other).await?;
    let ours = with_data(&own).await?;
    for kind in ["secrets", "configmaps"] {
        let of = |space: &Namespace, name: &str| within(&space.name, &format!("{kind}/{name}"));
        hand.comes_to(&get(of(&ours, "mounted"))).await?;
        let tries = [
            get(of(&theirs, "mounted")),
            get(of(&ours, "kept")),
            get(within(&ours.name, kind)),
            get(format!("/api/v1/{kind}")),
            get(within("kube-system", kind)),
            patch(of(&ours, "mounted"), json!({ "data": {} })),
            delete(of(&ours, "mounted")),
        ];
        hand.may_not(&tries).await?;
    }
    Ok(())
}

/// A token of the namespace's own account, bound to the pod `web` or to nothing.
async fn token(node: &TestNode, space: &Namespace, bound: bool) -> Result<Try> {
    let pods = objects::kind("v1", "Pod")?;
    let pod = objects::api(&node.admin, &pods, Some(&space.name))
        .get("web")
        .await?;
    let bound = bound.then(
        || json!({ "apiVersion": "v1", "kind": "Pod", "name": "web", "uid": pod.metadata.uid }),
    );
    let body = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": { "audiences": [], "boundObjectRef": bound },
    });
    Ok(post(
        within(&space.name, "serviceaccounts/default/token"),
        body,
    ))
}

#[tokio::test]
async fn a_token_is_given_for_the_nodes_own_pods_alone() -> Result<()> {
    let (own, other, hand) = captured("tokens").await?;
    let theirs = with_data(&other).await?;
    let ours = with_data(&own).await?;
    hand.comes_to(&token(&own, &ours, true).await?).await?;
    let tries = [
        token(&own, &ours, false).await?,
        token(&other, &theirs, true).await?,
        token(&other, &theirs, false).await?,
    ];
    hand.may_not(&tries).await
}
