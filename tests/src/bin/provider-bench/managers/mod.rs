//! The real core and kubeadm bootstrap managers of Cluster API, which call for their own Machines.
//! They show how soon a Machine reports the upgrade of its node, and that no Machine is replaced.
//! Only the kubelets, the agents and the hosts are played.

mod arrival;
mod cluster;
mod rack;
mod scene;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use careen_tests::fleet::images::LATEST;
use careen_tests::machines::Machine;
use careen_tests::rollout::Rollout;
use provider::names;
use testkit::cluster_api::Version;
use testkit::cluster_api::provider::until_discovered;

use crate::agents::Agents;
use crate::conditions::Conditions;
use crate::hooks::Hooks;
use crate::landing::Landing;
use crate::load::spread;
use crate::machines::SPACE;
use crate::process::Provider;
use crate::row::Measure;
use arrival::{Arrival, Flight, Tower, flights};
use scene::Scene;

/// The longest time without progress. It is far longer than needed: a state that does not change
/// for this long is an error.
const PATIENCE: Duration = Duration::from_secs(180);

/// The agents' last progress before the end: they verify the new system. The benchmark checks which
/// interval careen-provider gives core for it.
const TRIAL: &str = "Trial";

/// All measurements with this many Machines, and managers of this minor.
pub async fn with(count: usize, minor: Version, program: &Path) -> Result<Vec<Measure>> {
    let version = minor.as_str();
    eprintln!("{count} Machines: two new clusters, and the managers of {version} in one of them");
    let mut scene = Scene::start(minor).await?;
    let mut provider = Provider::start(program, &scene.management, &scene.admin).await?;
    let measured = measure(count, &scene, &provider).await;
    // A program that has ended gives a better error than a timeout.
    scene.check()?;
    provider.check()?;
    let log = scene.core_log()?;
    measured.with_context(|| format!("with {count} Machines; core's log is {}", log.display()))
}

async fn measure(count: usize, scene: &Scene, provider: &Provider) -> Result<Vec<Measure>> {
    until_discovered(&scene.admin).await?;
    scene.fill(count).await?;
    eprintln!("{count} Machines serve");
    let rollout = Rollout::watch(&scene.admin, SPACE).await?;
    let tower = Arc::new(tower(scene, provider).await?);
    let begun = Instant::now();
    scene.change_version(count).await?;
    tower.landing.agents.until_working(count, PATIENCE).await?;
    let to_begin = begun.elapsed().as_secs_f64();
    eprintln!("{count} nodes work");
    let flights = on_trial(scene, &tower.landing.agents, count).await?;
    let arrivals = land(&tower, flights).await?;
    let serve = |one: &Machine| one.serves(LATEST.version);
    scene
        .until_all("serve in the new version", count, serve)
        .await?;
    let mut all = arrival::measures(&arrivals);
    all.extend([
        Measure::shown("version changed until all nodes work, s", to_begin),
        Measure::at_most("Machines replaced", replaced(&rollout)?, 0.0),
        Measure::shown(
            "peak memory of careen-provider, KiB",
            provider.peak_memory()?,
        ),
    ]);
    Ok(all)
}

/// The number of replaced Machines. It must be zero, because each Machine can be upgraded in place.
fn replaced(rollout: &Rollout) -> Result<f64> {
    let gone = rollout.gone();
    ensure!(
        gone == 0,
        "{gone} Machines were replaced, and none was to be:\n{}",
        rollout.lines()
    );
    Ok(gone as f64)
}

async fn tower(scene: &Scene, provider: &Provider) -> Result<Tower> {
    let landing = Landing {
        agents: Agents::start(&scene.workload.admin),
        conditions: Conditions::watch(scene.infra_machines(), names::CONDITION),
        hooks: Arc::new(Hooks::trusted(provider.hooks, &scene.admin).await?),
    };
    Ok(Tower {
        landing,
        up_to_date: Conditions::watch(scene.machines()?, "UpToDate"),
    })
}

/// Lets all agents boot on trial, and waits until a call for each has reported that to core. From
/// then on core uses the interval for a trial.
async fn on_trial(scene: &Scene, agents: &Agents, count: usize) -> Result<Vec<Flight>> {
    let flights = flights(scene).await?;
    for flight in &flights {
        agents.is_on_trial(flight.name()).await?;
    }
    let heard = |one: &Machine| one.message("Updating").contains(TRIAL);
    scene
        .until_all("core knows to be on trial", count, heard)
        .await?;
    Ok(flights)
}

async fn land(tower: &Arc<Tower>, flights: Vec<Flight>) -> Result<Vec<Arrival>> {
    let one = |turn: usize| Arc::clone(tower).one(flights[turn].clone());
    spread(flights.len(), one).await
}
