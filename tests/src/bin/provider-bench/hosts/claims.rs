//! Machines that ask for a host at the same time, join, and give it back at the same time.

use anyhow::{Result, ensure};
use careen_tests::measured::{median, percentile};
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use provider::kinds::CareenMachine;
use serde_json::json;
use testkit::cluster_api::objects;

use super::MACHINES;
use super::objects::{AT_ONCE, DATA, SPACE, machine_name};
use super::rack::{Moment, Rack};
use super::scene::{PATIENCE, Scene};
use crate::process::Provider;
use crate::row::Measure;

/// The longest time from the order to leave until a host is free, without its reboot, in seconds.
const FREE: f64 = 60.0;

/// Runs all machines through their life.
pub async fn measure(scene: &Scene, provider: &Provider) -> Result<Vec<Measure>> {
    let rack = Rack::start(&scene.admin)?;
    let before = provider.processor()?;
    eprintln!("{MACHINES} machines ask for a host");
    each(|number| ask(scene, &rack, number)).await?;
    until(&rack, Moment::Claimed).await?;
    ensure!(rack.hosts() == MACHINES, "{} hosts have them", rack.hosts());
    eprintln!("{MACHINES} machines have one; they join");
    until_provisioned(scene).await?;
    let joined = provider.processor()?;
    eprintln!("{MACHINES} machines are deleted");
    each(|number| delete(scene, &rack, number)).await?;
    until(&rack, Moment::Free).await?;
    Ok(results(
        &rack,
        joined - before,
        provider.processor()? - joined,
    ))
}

fn results(rack: &Rack, to_join: f64, to_leave: f64) -> Vec<Measure> {
    let claims = rack.between(Moment::Asks, Moment::Claimed);
    let told = rack.between(Moment::AwaitsData, Moment::Told);
    let orders = rack.between(Moment::Deleted, Moment::Ordered);
    let ends = rack.between(Moment::Clean, Moment::Free);
    let leaving = sum(
        rack,
        &[
            (Moment::Deleted, Moment::Ordered),
            (Moment::Clean, Moment::Free),
        ],
    );
    let machines = MACHINES as f64;
    vec![
        Measure::at_most(
            "claim, of 300 at once, p99, ms",
            percentile(&claims, 99),
            1000.0,
        ),
        Measure::shown("   median, ms", median(&claims)),
        Measure::shown(
            "host asks for its data until it is told, p99, ms",
            percentile(&told, 99),
        ),
        Measure::shown(
            "deletion until the host is told, p99, ms",
            percentile(&orders, 99),
        ),
        Measure::shown(
            "host is clean until it is free, p99, ms",
            percentile(&ends, 99),
        ),
        Measure::at_most(
            "deletion to Available, over reboot and the host's pauses, p99, s",
            leaving / 1000.0,
            FREE,
        ),
        Measure::shown(
            "processor for a machine until it has joined, ms",
            to_join / machines,
        ),
        Measure::shown(
            "processor for a machine that leaves, ms",
            to_leave / machines,
        ),
    ]
}

/// The p99 of each of these, together.
fn sum(rack: &Rack, parts: &[(Moment, Moment)]) -> f64 {
    let p99 = |(from, to): &(Moment, Moment)| percentile(&rack.between(*from, *to), 99);
    parts.iter().map(p99).sum()
}

/// Does this for each machine.
async fn each<F: Future<Output = Result<()>>>(one: impl FnMut(usize) -> F) -> Result<()> {
    stream::iter((0..MACHINES).map(one))
        .buffer_unordered(AT_ONCE)
        .try_for_each(|()| async { Ok(()) })
        .await
}

/// The bootstrap provider names the data.
async fn ask(scene: &Scene, rack: &Rack, number: usize) -> Result<()> {
    let name = machine_name(number);
    let kind = objects::kind("cluster.x-k8s.io/v1beta2", "Machine")?;
    let machines: Api<DynamicObject> = objects::api(&scene.admin, &kind, Some(SPACE));
    let body = Patch::Merge(json!({ "spec": { "bootstrap": { "dataSecretName": DATA } } }));
    rack.note(&name, Moment::Asks);
    machines
        .patch(&name, &PatchParams::default(), &body)
        .await?;
    Ok(())
}

/// Core deletes the CareenMachine when its node is drained.
async fn delete(scene: &Scene, rack: &Rack, number: usize) -> Result<()> {
    let name = machine_name(number);
    let machines: Api<CareenMachine> = Api::namespaced(scene.admin.clone(), SPACE);
    rack.note(&name, Moment::Deleted);
    machines.delete(&name, &DeleteParams::default()).await?;
    Ok(())
}

async fn until(rack: &Rack, moment: Moment) -> Result<()> {
    let all = || async {
        let count = rack.count(moment);
        ensure!(count == MACHINES, "{count} of {MACHINES}");
        Ok(())
    };
    objects::until(&format!("{moment:?}"), PATIENCE, all).await
}

async fn until_provisioned(scene: &Scene) -> Result<()> {
    let machines: Api<CareenMachine> = Api::namespaced(scene.admin.clone(), SPACE);
    let all = || async {
        let all = machines.list(&ListParams::default()).await?;
        let done = all.iter().filter(|one| {
            let status = one.status.as_ref();
            let word = status.and_then(|status| status.initialization.as_ref()?.provisioned);
            word == Some(true)
        });
        let count = done.count();
        ensure!(
            count == MACHINES,
            "{count} of {MACHINES} machines are provisioned"
        );
        Ok(())
    };
    objects::until("provisioned machines", PATIENCE, all).await
}
