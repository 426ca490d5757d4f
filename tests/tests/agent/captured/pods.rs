//! Pods, and the requests that go through them.

use anyhow::Result;
use careen_tests::node::TestNode;
use careen_tests::pods::Namespace;
use serde_json::{Value, json};

use super::{captured, node, within};
use crate::hand::{delete, get, patch, post};

/// A pod as a kubelet reports a static pod.
async fn mirror(node: &TestNode, name: &str, volumes: Value) -> Result<Value> {
    let uid = node.now().await?.metadata.uid;
    let owner = json!({ "apiVersion": "v1", "kind": "Node", "name": node.name, "uid": uid, "controller": true });
    Ok(json!({
        "metadata": {
            "name": name, "annotations": { "kubernetes.io/config.mirror": "x" }, "ownerReferences": [owner],
        },
        "spec": { "nodeName": node.name, "containers": [{ "name": "c", "image": "i" }], "volumes": volumes },
    }))
}

#[tokio::test]
async fn node_credential_creates_only_bare_mirror_pods_on_its_node() -> Result<()> {
    let (own, other, hand) = captured("places").await?;
    let ours = Namespace::new(&own).await?;
    let make = |body: Value| post(within(&ours.name, "pods"), body);
    hand.may(&[make(mirror(&own, "mirror", json!([])).await?)])
        .await?;
    let mut plain = mirror(&own, "plain", json!([])).await?;
    plain["metadata"]["annotations"] = json!({});
    let secret = json!([{ "name": "s", "secret": { "secretName": "any" } }]);
    let mut trusted = mirror(&own, "trusted", json!([])).await?;
    trusted["spec"]["serviceAccountName"] = json!("default");
    let tries = [
        make(mirror(&other, "elsewhere", json!([])).await?),
        make(plain),
        make(mirror(&own, "curious", secret).await?),
        make(trusted),
        post(
            within(&ours.name, "pods/mirror/binding"),
            json!({ "target": { "kind": "Node", "name": other.name } }),
        ),
    ];
    hand.may_not(&tries).await
}

#[tokio::test]
async fn a_pod_of_another_node_can_be_neither_entered_nor_touched() -> Result<()> {
    let (own, other, hand) = captured("touches").await?;
    // The neighbour's namespace comes first: when the server knows the own one, it also knows the
    // neighbour's.
    let (theirs, ours) = (Namespace::new(&other).await?, Namespace::new(&own).await?);
    theirs.run("web", json!({})).await?;
    ours.run("web", json!({})).await?;
    let pod = |space: &Namespace, rest: &str| within(&space.name, &format!("pods/web{rest}"));
    let failed = json!({ "status": { "phase": "Failed" } });
    hand.comes_to(&get(pod(&ours, ""))).await?;
    hand.may(&[patch(pod(&ours, "/status"), failed.clone())])
        .await?;
    let tries = [
        get(pod(&theirs, "")),
        get(pod(&theirs, "/log")),
        get(pod(&theirs, "/exec?command=id&stdout=true")),
        patch(
            pod(&theirs, ""),
            json!({ "metadata": { "labels": { "a": "b" } } }),
        ),
        patch(pod(&theirs, "/status"), failed),
        delete(pod(&theirs, "")),
        get(format!("{}/proxy/pods", node(&other.name))),
    ];
    hand.may_not(&tries).await
}
