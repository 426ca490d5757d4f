//! clusterctl moves a Cluster with its hosts to another management cluster.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use infrastructure::{Claim, Phase};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use provider::kinds::{CareenHost, CareenMachine, HostRegistration};
use serde_json::json;
use testkit::cluster_api::clusterctl::Clusterctl;
use testkit::cluster_api::{Manager, objects};

use crate::hosted::{self, Program};
use crate::management::Management;
use crate::{CLUSTER, HOSTS, PATIENCE, VERSION, World};

/// clusterctl looks for objects of kinds that it has installed. The tests install them without it.
async fn label_kinds(client: &Client) -> Result<()> {
    let all: Api<CustomResourceDefinition> = Api::all(client.clone());
    let label = json!({ "metadata": { "labels": { "clusterctl.cluster.x-k8s.io": "" } } });
    for one in all.list(&ListParams::default()).await? {
        let how = PatchParams::default();
        all.patch(&one.name_any(), &how, &Patch::Merge(&label))
            .await?;
    }
    Ok(())
}

async fn clusterctl_move(from: &Management, to: &Management) -> Result<()> {
    label_kinds(&from.client).await?;
    label_kinds(&to.client).await?;
    let folder = tempfile::tempdir()?;
    let clusterctl = Clusterctl::with_release(folder.path())?;
    let [from, to] = [from, to].map(|one| one.plane.admin_kubeconfig().display().to_string());
    let line = [
        "move",
        "--namespace",
        CLUSTER,
        "--kubeconfig",
        &from,
        "--to-kubeconfig",
        &to,
    ];
    clusterctl.run(&line, &[]).map(drop)
}

async fn hosts(client: &Client) -> Result<Vec<CareenHost>> {
    let all: Api<CareenHost> = Api::namespaced(client.clone(), CLUSTER);
    Ok(all.list(&ListParams::default()).await?.items)
}

/// The UID and the claim of each host.
async fn claims(client: &Client) -> Result<BTreeMap<String, (String, Option<Claim>)>> {
    let uid = |host: &CareenHost| host.uid().unwrap_or_default();
    let each = |host: CareenHost| (host.name_any(), (uid(&host), host.spec.claim));
    Ok(hosts(client).await?.into_iter().map(each).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clusterctl_move_keeps_claims_nodes_and_provider_ids() -> Result<()> {
    let mut world = World::start().await?;
    world.until_available(3).await?;
    let workers = (2, VERSION);
    world
        .cluster
        .deployment_on_hosts("workers", workers)
        .await?;
    let ids = world.until_running(2).await?;
    let before = claims(&world.client).await?;
    let managers = [Manager::Core, Manager::Bootstrap];
    let other = Management::start_beside(&managers, "hosts-other-cluster").await?;

    clusterctl_move(&world.management, &other).await?;
    ensure!(hosts(&world.client).await?.is_empty(), "hosts stayed");
    let source = std::mem::replace(&mut world.client, other.client.clone());
    world.cluster.client = other.client.clone();
    // The simulated control plane has lost its status, as everything has.
    world.cluster.control_plane_reaches(VERSION).await?;
    let after = claims(&world.client).await?;
    for (name, (uid, claim)) in &before {
        let (new_uid, kept) = after.get(name).context("a host is missing")?;
        ensure!(
            uid != new_uid && claim == kept,
            "{name}: {claim:?}, {kept:?}"
        );
    }
    // No host is heard yet: its account is new, and the file on it leads to the old cluster.
    let moved = world.until_running(2).await?;
    ensure!(sorted(&ids) == sorted(&moved), "{ids:?}, {moved:?}");
    ensure!(hosts(&source).await?.is_empty(), "a host has come back");

    for (name, host) in HOSTS.iter().zip(&world.hosts) {
        let file = hosted::settings(&other.token().await?, name)?;
        host.off();
        host.on(file);
    }
    until_heard(&world.client, &before).await?;
    world.cluster.scale_deployment("workers", 1).await?;
    let rest = world.until_running(1).await?;
    ensure!(ids.contains(&rest[0]), "{ids:?}, {rest:?}");
    world.until_available(2).await?;
    world.cluster.remove().await?;
    world.until_available(3).await?;
    let registrations: Api<HostRegistration> = Api::namespaced(world.client.clone(), CLUSTER);
    ensure!(registrations.get_opt("rack-a").await?.is_some());
    let runs: Vec<_> = world.hosts.drain(..).map(Program::end).collect();
    let all: usize = runs.iter().map(|one| one.matches('1').count()).sum();
    assert_eq!(all, 2, "each claim's data ran once: {runs:?}");
    Ok(())
}

fn sorted(ids: &[String]) -> Vec<&String> {
    let mut all: Vec<_> = ids.iter().collect();
    all.sort();
    all
}

/// Waits until each host says at the new cluster what it was before the move.
async fn until_heard(
    client: &Client,
    before: &BTreeMap<String, (String, Option<Claim>)>,
) -> Result<()> {
    let machines: Api<CareenMachine> = Api::namespaced(client.clone(), CLUSTER);
    let ask = || async {
        for host in hosts(client).await? {
            let claim = before
                .get(&host.name_any())
                .and_then(|(_, claim)| claim.as_ref());
            let status = host.status.unwrap_or_default();
            let phase = claim.map_or(Phase::Available, |_| Phase::Joined);
            let observed = claim.map(|claim| &claim.id);
            ensure!(
                status.phase == phase,
                "{:?} {}",
                status.phase,
                status.message
            );
            ensure!(observed.is_none() || status.observed_claim.as_ref() == observed);
        }
        for machine in machines.list(&ListParams::default()).await? {
            let conditions = machine.status.unwrap_or_default().conditions;
            let mut ready = conditions.iter().filter(|one| one.kind == "Ready");
            ensure!(ready.all(|one| one.status == "True"), "{conditions:?}");
        }
        Ok(())
    };
    objects::until("hosts that are heard", PATIENCE, ask).await
}
