//! A cluster of one control plane and one worker, from the template to clean hosts.

use anyhow::{Context, Result, ensure};
use hosts_tests::IMAGE;
use infrastructure::Phase;
use kube::api::{Api, ListParams};
use provider::kinds::{CareenCluster, CareenHost, CareenMachine};
use serde_json::json;
use testkit::cluster_api::objects;

use super::Scene;
use crate::kubelets::Kubelets;
use crate::{CLUSTER, PATIENCE, VERSION, register};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flavour_single_joins_on_the_host_of_its_endpoint() -> Result<()> {
    let scene = Scene::start().await?;
    let client = scene.management.client.clone();
    register(&client).await?;
    let hosts = scene.management.hosts(&["n-1", "n-2"]).await?;
    let _kubelets = Kubelets::play(client.clone(), CLUSTER);
    let catalogue = json!({
        "apiVersion": "careen.dev/v1alpha1", "kind": "ImageCatalogue", "metadata": { "name": "default" },
        "spec": { "images": [{ "kubernetesVersion": VERSION, "image": IMAGE }] },
    });
    objects::apply(&client, &catalogue).await?;
    let single = scene.generate("single", &[("CONTROL_PLANE_HOST", "n-2")])?;
    scene.apply(&single).await?;

    let machines: Api<CareenMachine> = Api::namespaced(client.clone(), CLUSTER);
    let joined = || async {
        let mut all = Vec::new();
        for one in machines.list(&ListParams::default()).await? {
            let is_there = one.status.clone().unwrap_or_default().initialization;
            ensure!(
                is_there.and_then(|one| one.provisioned) == Some(true),
                "{:?}",
                one.status
            );
            all.push((
                one.spec.request.host_name,
                one.spec.host_ref.map(|host| host.name),
            ));
        }
        ensure!(all.len() == 2, "{all:?}");
        all.sort();
        Ok(all)
    };
    let joined = objects::until("two machines", PATIENCE, joined).await?;
    let on = |name: &str| Some(name.to_owned());
    assert_eq!(joined, [(None, on("n-1")), (on("n-2"), on("n-2"))]);
    let ours: Api<CareenCluster> = Api::namespaced(client.clone(), CLUSTER);
    let endpoint = ours.get(CLUSTER).await?.spec.control_plane_endpoint;
    let all: Api<CareenHost> = Api::namespaced(client.clone(), CLUSTER);
    let host = all.get("n-2").await?;
    ensure!(
        host.spec.reserved_for.as_deref() == Some(CLUSTER),
        "{:?}",
        host.spec
    );
    let addresses = host.status.unwrap_or_default().addresses;
    let host = endpoint.context("no endpoint")?.host;
    ensure!(
        addresses.iter().any(|one| one.address == host),
        "{host} {addresses:?}"
    );

    scene.remove(CLUSTER).await?;
    let free = || async {
        for host in all.list(&ListParams::default()).await? {
            let status = host.status.unwrap_or_default();
            ensure!(status.phase == Phase::Available, "{status:?}");
            ensure!(host.spec.claim.is_none() && host.spec.reserved_for.is_none());
        }
        Ok(())
    };
    objects::until("hosts that are free", PATIENCE, free).await?;
    drop(hosts);
    Ok(())
}
