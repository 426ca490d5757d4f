//! The annotation flow from the machine template of a KubeadmControlPlane. The control plane
//! manager copies the annotation to Machines and InfraMachines, and puts it back there.

use std::time::Duration;

use anyhow::{Result, ensure};
use careen_tests::cluster::PATIENCE;
use careen_tests::fleet::images::FIRST;
use careen_tests::machines::{core, identities, until_all_serve};
use careen_tests::rollout::Rollout;
use careen_tests::world::{self, World};
use kube::Api;
use kube::api::{DynamicObject, ListParams};
use provider::names;
use serde_json::{Value, json};
use testkit::cluster_api::cluster::{Cluster, control_plane_kind};
use testkit::cluster_api::infrastructure::{GROUP, VERSION as INFRA_VERSION};
use testkit::cluster_api::objects;

use crate::VERSION;

const NAME: &str = "templated";

async fn template_asks(cluster: &Cluster, value: Value) -> Result<()> {
    let metadata = json!({ "annotations": { names::ASK: value } });
    let change = json!({ "spec": { "machineTemplate": { "metadata": metadata } } });
    cluster.change(&control_plane_kind(), NAME, change).await
}

fn has_it(object: &DynamicObject) -> bool {
    let annotations = object.metadata.annotations.as_ref();
    annotations.is_some_and(|all| all.contains_key(names::ASK))
}

/// Waits until this holds for each object of the kind.
async fn until_all(
    api: &Api<DynamicObject>,
    what: &str,
    holds: impl Fn(&DynamicObject) -> bool,
) -> Result<()> {
    let ask = || async {
        let all = api.list(&ListParams::default()).await?.items;
        let left = all.iter().find(|object| !holds(object));
        ensure!(left.is_none(), "{left:?}");
        Ok(())
    };
    objects::until(what, PATIENCE, ask).await
}

/// The versions of all Machines as objects.
async fn revisions(machines: &Api<DynamicObject>) -> Result<Vec<Option<String>>> {
    let all = machines.list(&ListParams::default()).await?.items;
    let revisions = all.into_iter().map(|one| one.metadata.resource_version);
    Ok(revisions.collect())
}

async fn arrive_and_rest(world: &World, cluster: &Cluster) -> Result<()> {
    let machines = core(&world.client, "Machine", NAME)?;
    let kind = objects::kind(&format!("{GROUP}/{INFRA_VERSION}"), "RigMachine")?;
    let infra: Api<DynamicObject> = objects::api(&world.client, &kind, Some(NAME));
    template_asks(cluster, json!("")).await?;
    let arrived = |object: &DynamicObject| {
        has_it(object) && object.data.pointer("/status/version") == Some(&json!(FIRST.version))
    };
    until_all(&infra, "all arrived", arrived).await?;
    // Their last conditions follow.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let before = revisions(&machines).await?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(before, revisions(&machines).await?, "they are not at rest");
    until_all(&machines, "the annotation stays", has_it).await?;
    template_asks(cluster, Value::Null).await?;
    until_all(&machines, "the annotation goes", |one| !has_it(one)).await
}

#[test]
fn annotation_of_a_template_stays_and_is_not_fought_over() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        let cluster = Cluster::with_control_plane(world.plane, NAME, FIRST.version, 0).await?;
        let before = until_all_serve(&world.client, NAME, 3, FIRST.version).await?;
        let rollout = Rollout::watch(&world.client, NAME).await?;
        arrive_and_rest(world, &cluster).await?;
        let after = until_all_serve(&world.client, NAME, 3, FIRST.version).await?;
        assert_eq!(identities(&before), identities(&after));
        assert_eq!(rollout.gone(), 0, "replaced");
        cluster.remove().await
    })
}
