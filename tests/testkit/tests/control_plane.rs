//! Tests what scenarios and cluster tests rely on: the control plane can be copied, stopped and
//! started again.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;
use testkit::control_plane::{ControlPlane, HOST_SEEN_FROM_GUEST, copy};
use tokio::time::timeout;

type Outcome = anyhow::Result<()>;

async fn with(kubeconfig: &Path) -> anyhow::Result<Client> {
    let content = Kubeconfig::read_from(kubeconfig)?;
    Ok(Client::try_from(
        Config::from_custom_kubeconfig(content, &KubeConfigOptions::default()).await?,
    )?)
}

fn named(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map
}

#[tokio::test]
async fn a_cluster_goes_back_to_what_its_copy_holds() -> Outcome {
    let dir = tempfile::tempdir()?;
    let (there, kept) = (dir.path().join("cluster"), dir.path().join("copy"));
    let mut plane = ControlPlane::start(&there).await?;
    let maps: Api<ConfigMap> = Api::default_namespaced(plane.client().await?);
    maps.create(&PostParams::default(), &named("before"))
        .await?;
    plane.stop();
    copy(&there, &kept)?;

    let again = ControlPlane::start(&there).await?;
    let maps: Api<ConfigMap> = Api::default_namespaced(again.client().await?);
    maps.delete("before", &DeleteParams::default()).await?;
    let port = again.api_port();
    drop(again);

    let back = ControlPlane::start(&kept).await?;
    let maps: Api<ConfigMap> = Api::default_namespaced(back.client().await?);
    assert!(
        maps.get_opt("before").await?.is_some(),
        "the copy lost what it held"
    );
    assert_eq!(back.api_port(), port, "joined nodes know the port");
    Ok(())
}

#[tokio::test]
async fn an_api_server_can_be_refused_silent_and_back() -> Outcome {
    let dir = tempfile::tempdir()?;
    let plane = ControlPlane::start(&dir.path().join("cluster")).await?;
    let client = plane.client().await?;
    plane.stop_api_server();
    assert!(
        client.apiserver_version().await.is_err(),
        "a stopped server answered"
    );
    plane.start_api_server().await?;
    client.apiserver_version().await?;
    plane.freeze_api_server()?;
    let silent = timeout(Duration::from_secs(2), client.apiserver_version()).await;
    assert!(silent.is_err(), "a frozen server answered");
    plane.thaw_api_server()?;
    client.apiserver_version().await?;
    Ok(())
}

#[tokio::test]
async fn a_node_joins_by_the_guest_address_and_writes_only_itself() -> Outcome {
    let dir = tempfile::tempdir()?;
    let plane = ControlPlane::start(&dir.path().join("cluster")).await?;
    let infos: Api<ConfigMap> = Api::namespaced(plane.client().await?, "kube-public");
    let info = infos.get("cluster-info").await?.data.unwrap_or_default();
    let server = format!("https://{HOST_SEEN_FROM_GUEST}:{}", plane.api_port());
    assert!(
        info["kubeconfig"].contains(&server),
        "a join would go elsewhere: {info:?}"
    );

    let nodes: Api<Node> = Api::all(plane.client().await?);
    for name in ["one", "other"] {
        let node = serde_json::from_value(json!({"metadata": {"name": name}}))?;
        nodes.create(&PostParams::default(), &node).await?;
    }
    let credential = plane.node_kubeconfig("one", Duration::from_secs(3600))?;
    let own: Api<Node> = Api::all(with(&credential).await?);
    let mark = Patch::Merge(json!({"metadata": {"annotations": {"careen.dev/test": "yes"}}}));
    own.patch("one", &PatchParams::default(), &mark).await?;
    let refused = own.patch("other", &PatchParams::default(), &mark).await;
    assert!(refused.is_err(), "a node's credential wrote another node");
    Ok(())
}
