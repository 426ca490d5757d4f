//! The lowest possible time of a claim: its two guarded writes, of all machines at once, by one
//! hand that knows which host each gets. No careen-provider runs meanwhile.

use std::time::Instant;

use anyhow::Result;
use careen_tests::measured::{median, milliseconds, percentile};
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Resource, ResourceExt};
use provider::kinds::{CareenHost, CareenMachine};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::MACHINES;
use super::objects::{AT_ONCE, SPACE, all_hosts, name};
use super::scene::Scene;
use crate::row::Measure;

/// The number of single round trips.
const FEW: usize = 100;

/// Measures both floors.
pub async fn measure(scene: &Scene) -> Result<Vec<Measure>> {
    let hosts = all_hosts(&scene.admin);
    let mut trips = Vec::new();
    for number in 0..FEW {
        let begun = Instant::now();
        hosts.get(&name(number)).await?;
        trips.push(milliseconds(begun));
    }
    let machines: Api<CareenMachine> = Api::namespaced(scene.admin.clone(), SPACE);
    let all = machines.list(&ListParams::default()).await?.items;
    let few = u32::try_from(MACHINES)?;
    let free = hosts.list(&ListParams::default().limit(few)).await?.items;
    let pairs = all.into_iter().zip(free);
    let begun = Instant::now();
    let took: Vec<f64> = stream::iter(pairs.map(|pair| both(&machines, &hosts, pair, begun)))
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await?;
    Ok(vec![
        Measure::floor(
            "   floor, p99: a claim's two writes by one hand, 300 at once, ms",
            percentile(&took, 99),
        ),
        Measure::floor("   floor, median, ms", median(&took)),
        Measure::floor(
            "   floor: GET of one host, alone, median, ms",
            median(&trips),
        ),
    ])
}

/// Milliseconds since all began.
async fn both(
    machines: &Api<CareenMachine>,
    hosts: &Api<CareenHost>,
    (machine, host): (CareenMachine, CareenHost),
    begun: Instant,
) -> Result<f64> {
    write(machines, &machine).await?;
    write(hosts, &host).await?;
    Ok(milliseconds(begun))
}

async fn write<K>(api: &Api<K>, read: &K) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
{
    let body = Patch::Merge(json!({ "metadata": {
        "resourceVersion": read.resource_version(), "annotations": { "careen.dev/floor": "written" },
    } }));
    api.patch(&read.name_any(), &PatchParams::default(), &body)
        .await?;
    Ok(())
}
