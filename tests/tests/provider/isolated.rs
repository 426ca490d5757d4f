//! A workload cluster whose API server hangs takes only its own slots, not those of the others.

use anyhow::{Result, bail, ensure};
use careen_tests::cluster::plane;
use careen_tests::management::Management;
use careen_tests::replica::Replica;
use careen_tests::wire::{State, Wire};
use provider::names;
use serde_json::json;

/// The slots of one cluster; see `flow`.
const PLACES: f64 = 32.0;

/// More than the number of slots.
const MANY: usize = 40;

/// The provider waits some seconds for a server that hangs. A busy machine may need longer for one
/// node; then the round proves nothing.
const ROUNDS: usize = 4;

/// The number of writes without an answer so far.
async fn given_up(replica: &Replica) -> Result<Option<f64>> {
    replica.metric("errors_total{class=\"away\"}").await
}

async fn both_are_seen(scene: &Management, replica: &Replica) -> Result<()> {
    let seen = || async {
        let (all, away) = (
            replica.metric("clusters").await?,
            replica.metric("clusters_away").await?,
        );
        ensure!((all, away) == (Some(2.0), Some(0.0)), "{all:?} {away:?}");
        Ok(())
    };
    scene.until("both clusters seen", seen).await
}

/// Waits until all slots of the hanging cluster are taken and more Machines wait for one, or the
/// first write has already timed out.
async fn its_places_are_taken(
    scene: &Management,
    replica: &Replica,
    before: Option<f64>,
) -> Result<()> {
    let taken = || async {
        let depth = replica.metric("queue_depth").await?;
        let late = given_up(replica).await? != before;
        ensure!(depth > Some(PLACES) || late, "{depth:?}");
        Ok(())
    };
    scene.until("all its places taken", taken).await
}

/// Whether the node of the healthy cluster gets its request before the first write to the other
/// cluster times out.
async fn one_round(
    scene: &Management,
    replica: &Replica,
    hanging: &Wire,
    round: usize,
) -> Result<bool> {
    let healthy = format!("isolated-{round}");
    scene.machine("isolated", &healthy, json!({})).await?;
    let many: Vec<String> = (0..MANY)
        .map(|number| format!("hangs-{round}-{number}"))
        .collect();
    for name in &many {
        scene.machine("hangs", name, json!({})).await?;
    }
    both_are_seen(scene, replica).await?;
    let before = given_up(replica).await?;
    hanging.set(State::Dead);
    futures::future::try_join_all(many.iter().map(|name| scene.ask(name))).await?;
    its_places_are_taken(scene, replica, before).await?;
    scene.ask(&healthy).await?;
    scene.until_asked(&healthy, true).await?;
    let in_time = given_up(replica).await? == before;
    let said = scene
        .until_reason(&many[0], names::CONDITION, "ApiAway")
        .await?;
    let message = said["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("nothing is judged or written"),
        "{message}"
    );
    hanging.set(State::Open);
    scene.until_asked(&many[MANY - 1], true).await?;
    Ok(in_time)
}

#[tokio::test]
async fn hanging_api_server_does_not_delay_another_clusters_nodes() -> Result<()> {
    let scene = Management::new("isolated").await?;
    let hanging = Wire::to(plane().await?.api_port()).await?;
    scene.cluster("hangs", &hanging).await?;
    let replica = Replica::start(&scene, "one").await?;
    for round in 0..ROUNDS {
        if one_round(&scene, &replica, &hanging, round).await? {
            return Ok(());
        }
    }
    bail!("the request waited until the first of the others was given up")
}
