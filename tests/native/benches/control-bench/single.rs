//! C6 and C8: the only member of a cluster is upgraded, from its cordon on and from its arming on.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use careen_tests::measured::median;
use careen_tests::row::Row;
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use native::{Cluster, Images, Member, until};
use serde_json::json;

use crate::hand;
use crate::host::Host;

/// The request.
const ID: &str = "bench";

/// What the design allows over the same by hand.
const MOST: f64 = 1.10;

/// The seconds of all runs.
#[derive(Default)]
struct All {
    /// A reboot, until the own API server is ready.
    plain: Vec<f64>,
    /// From the arming until the own API server is ready.
    outage: Vec<f64>,
    /// From the cordon until the node is schedulable again.
    away: Vec<f64>,
    /// The same by hand.
    by_hand: Vec<f64>,
}

/// Each run has two new clusters.
pub async fn measure(control: &Path, runs: usize) -> Result<Vec<Row>> {
    let mut all = All::default();
    for run in 1..=runs {
        eprintln!("C6 and C8: run {run} of {runs}");
        let (cluster, image) = begin()?;
        all.plain.push(reboot(&cluster).await?);
        let (outage, away) = by_agent(cluster, &image, control).await?;
        all.outage.push(outage);
        all.away.push(away);
        let (cluster, image) = begin()?;
        all.by_hand.push(by_hand(&cluster, &image).await?);
    }
    Ok(all.rows())
}

fn begin() -> Result<(Arc<Cluster>, Arc<Images>)> {
    let cluster = Arc::new(Cluster::start(1)?);
    let image = Arc::new(cluster.images().next_patch()?);
    Ok((cluster, image))
}

fn only(cluster: &Cluster) -> Result<&Member> {
    cluster.members().first().context("no member")
}

/// A reboot and nothing else.
async fn reboot(cluster: &Cluster) -> Result<f64> {
    let member = only(cluster)?;
    let begun = Instant::now();
    member.cut_power();
    member.boot()?;
    until("the API server", async || {
        member.api_server_is_ready().await
    })
    .await;
    Ok(begun.elapsed().as_secs_f64())
}

async fn by_agent(
    cluster: Arc<Cluster>,
    image: &Arc<Images>,
    control: &Path,
) -> Result<(f64, f64)> {
    let client = cluster.client().await?;
    let mut host = Host::with_control(&cluster, 0, image, &Arc::default(), control.into());
    let name = only(&cluster)?.name();
    host.ask(&client, ID).await;
    until("the cordon", async || {
        is_cordoned(&client, name).await == Some(true)
    })
    .await;
    let cordoned = Instant::now();
    until("the arming", async || {
        host.begun().iter().any(|step| step == "Arm")
    })
    .await;
    let armed = Instant::now();
    host.reboot().await;
    until("the API server", async || {
        host.member().api_server_is_ready().await
    })
    .await;
    let outage = armed.elapsed().as_secs_f64();
    until("the uncordon", async || {
        is_cordoned(&client, name).await == Some(false)
    })
    .await;
    let away = cordoned.elapsed().as_secs_f64();
    until("the answer", async || {
        host.status(&client).await["phase"] == "Upgraded"
    })
    .await;
    ensure!(host.runs_new(), "the old system runs");
    Ok((outage, away))
}

async fn by_hand(cluster: &Cluster, image: &Images) -> Result<f64> {
    let client = cluster.client().await?;
    let name = only(cluster)?.name();
    let begun = Instant::now();
    cordon(&client, name, true).await?;
    hand::upgrade(cluster, 0, image, &client).await?;
    cordon(&client, name, false).await?;
    Ok(begun.elapsed().as_secs_f64())
}

async fn cordon(client: &Client, name: &str, cordon: bool) -> Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    let patch = Patch::Merge(json!({ "spec": { "unschedulable": cordon } }));
    nodes.patch(name, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// Nothing while the API server is away.
async fn is_cordoned(client: &Client, name: &str) -> Option<bool> {
    let nodes: Api<Node> = Api::all(client.clone());
    let node = nodes.get(name).await.ok()?;
    Some(node.spec?.unschedulable.unwrap_or(false))
}

impl All {
    fn rows(self) -> Vec<Row> {
        let over = |floor: &[f64]| median(floor) * MOST;
        vec![
            Row {
                name: "C6 from cordon to schedulable, s",
                floor: format!("by hand: {:.2}", median(&self.by_hand)),
                target: Some(over(&self.by_hand)),
                runs: self.away,
            },
            Row {
                name: "C8 from the arming to the own API, s",
                floor: format!("a plain reboot: {:.2}", median(&self.plain)),
                target: Some(over(&self.plain)),
                runs: self.outage,
            },
        ]
    }
}
