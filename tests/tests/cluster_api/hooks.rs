//! Hook calls that hang, break, time out, come twice, or come too late.

use std::time::Duration;

use anyhow::{Result, ensure};
use careen_tests::caller::{Caller, UPDATE_MACHINE, update_call};
use careen_tests::fleet::images::{FIRST, LATEST, MINOR};
use careen_tests::machines::{self, Machine, until_counted};
use careen_tests::management::History;
use careen_tests::wire::State;
use careen_tests::world::{self, World};
use futures::future::try_join;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::Api;

use crate::VERSION;
use crate::scene::{ONE_AT_A_TIME, Scene};

/// Core's timeout for a call is ten seconds.
#[test]
fn hanging_or_cut_hook_calls_are_retried_without_side_effects() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        let scene = Scene::new(world, "cut-off", 2, ONE_AT_A_TIME).await?;
        world.provider.wire.set(State::Dead);
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        tokio::time::sleep(Duration::from_secs(12)).await;
        assert_eq!(scene.rollout.lines(), "", "nothing begins unasked");
        world.provider.wire.set(State::Open);
        scene.until("1 begins v1.36.3").await?;
        world.provider.wire.set(State::Cut);
        tokio::time::sleep(Duration::from_secs(5)).await;
        world.provider.wire.set(State::Open);
        scene.arrives(world, LATEST.version).await
    })
}

#[test]
fn calls_that_time_out_while_a_node_works_leave_it_to_its_work() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        let scene = Scene::new(world, "timed-out", 2, ONE_AT_A_TIME).await?;
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        scene.until("1 begins v1.36.3").await?;
        world.provider.wire.set(State::Dead);
        let failed = |all: &[Machine]| {
            all.iter()
                .any(|machine| machine.reason("Updating") == "InPlaceUpdateFailed")
        };
        machines::until(&world.client, "timed-out", "a call timed out", failed).await?;
        world.provider.wire.set(State::Open);
        scene.arrives(world, LATEST.version).await?;
        scene.rebooted(world, 1);
        Ok(())
    })
}

/// New connections do not preserve the order of calls, and a retry may deliver a call twice.
#[test]
fn repeated_and_late_hook_calls_start_and_end_nothing() -> Result<()> {
    world::run(VERSION, |world| async move {
        let scene = Scene::new(world, "disordered", 2, ONE_AT_A_TIME).await?;
        let requests = requests(world, &scene).await?;
        scene.cluster.upgrade_deployment("w", MINOR.version).await?;
        scene.arrives(world, MINOR.version).await?;
        until_counted(&world.client, "disordered", "w", 2).await?;
        let caller = world.provider.caller(&world.client).await?;
        scene
            .cluster
            .upgrade_deployment("w", LATEST.version)
            .await?;
        tokio::select! {
            arrived = scene.arrives(world, LATEST.version) => arrived?,
            failed = calls_in_disorder(&caller, &scene) => failed?,
        }
        scene.rebooted(world, 2);
        for node in requests {
            let ids = node.so_far();
            assert_eq!(ids.len(), 2, "asked once for each version: {ids:?}");
        }
        Ok(())
    })
}

/// The requests on each Node from now on.
async fn requests(world: &World, scene: &Scene) -> Result<Vec<History>> {
    let id = |node: &Node| {
        let id = node.annotations().get(upgrade::names::UPGRADE_ID);
        id.cloned().unwrap_or_default()
    };
    let mut all = Vec::new();
    for machine in &scene.before {
        let nodes: Api<Node> = Api::all(world.client.clone());
        all.push(History::of(nodes, &machine.name(), id).await?);
    }
    Ok(all)
}

/// Sends core's current calls, its earlier calls, and calls that it never made, each twice at the
/// same time. Never returns by itself.
async fn calls_in_disorder(caller: &Caller, scene: &Scene) -> Result<()> {
    loop {
        for name in scene.before.iter().map(Machine::name) {
            for image in [LATEST, MINOR, FIRST] {
                let call = update_call((&scene.cluster.name, &name), "RigMachine", image.version);
                let once = caller.call(UPDATE_MACHINE, call.clone());
                let again = caller.call(UPDATE_MACHINE, call);
                let (one, other) = try_join(once, again).await?;
                for answer in [one, other] {
                    let goes_on = answer["retryAfterSeconds"].as_i64() >= Some(1);
                    ensure!(
                        goes_on || image != FIRST,
                        "a version of long ago is done: {answer}"
                    );
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
