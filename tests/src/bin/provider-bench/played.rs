//! The measurements with played core. They are the same at each size.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use careen_tests::requests::Requests;
use provider::names;

use crate::agents::Agents;
use crate::caller::Caller;
use crate::conditions::Conditions;
use crate::credential;
use crate::hooks::Hooks;
use crate::landing::{ByHand, Landing};
use crate::load;
use crate::process::{CORE_WAITS, Provider};
use crate::quiet;
use crate::row::{Measure, Size};
use crate::scene::Scene;

/// The time until the process is idle, or has written everything.
const SETTLE: Duration = Duration::from_secs(10);

/// What the facts of one node take in the program, in KiB, without connections and TLS:
/// `cargo test -p careen-provider --test scale`.
const FACTS: f64 = 3.1;

/// Measures one size after the other. A failure does not lose the results of the earlier sizes.
pub async fn at_sizes(sizes: &[usize], program: &Path) -> (Vec<Size>, Result<()>) {
    let mut measured = Vec::new();
    for nodes in sizes.iter().copied() {
        match at(nodes, program).await {
            Ok(measures) => measured.push(Size { nodes, measures }),
            Err(error) => {
                let ended = Err(error.context(format!("with {nodes} nodes")));
                return (measured, ended);
            }
        }
    }
    (measured, Ok(()))
}

/// All measurements at one size.
async fn at(nodes: usize, program: &Path) -> Result<Vec<Measure>> {
    eprintln!("{nodes} nodes: two new clusters");
    let scene = Scene::start().await?;
    let admin = &scene.workload.admin;
    let requests = Requests::of_user(admin, "careen-bench", &credential::user()).await?;
    let provider = Provider::start(program, &scene.management, &scene.admin).await?;
    tokio::time::sleep(SETTLE).await;
    let idle = provider.memory()?;
    scene.fill(nodes).await?;

    let hooks = Arc::new(Hooks::trusted(provider.hooks, &scene.admin).await?);
    let landing = Arc::new(Landing {
        agents: Agents::start(admin),
        conditions: Conditions::watch(scene.infra_machines(), names::CONDITION),
        hooks: Arc::clone(&hooks),
    });
    let mut caller = Caller::new(hooks);
    let before = provider.processor()?;
    load::begin(&mut caller, &landing.agents, nodes).await?;
    tokio::time::sleep(SETTLE).await;
    let to_begin = provider.processor()? - before;

    let parts = (&landing, &ByHand::of(&scene));
    let under_load = load::measure(nodes, &caller, &provider, parts).await?;
    let memory = provider.memory()?;
    drop(caller);
    let mut all = vec![
        Measure::at_most("memory a node, KiB", (memory - idle) / nodes as f64, 20.0),
        Measure::floor("   floor: what is kept of a node alone, KiB", FACTS),
        Measure::shown("   idle, without any node, KiB", idle),
        Measure::shown(
            "processor until a node is asked and works, ms",
            to_begin / nodes as f64,
        ),
    ];
    all.extend(under_load);
    all.extend(quiet::measure(&provider, &requests).await?);
    drop(provider);
    all.push(started_among_them(&scene, program).await?);
    Ok(all)
}

/// Starts the process when all Machines exist. It lists all of them before it becomes ready.
async fn started_among_them(scene: &Scene, program: &Path) -> Result<Measure> {
    let provider = Provider::start(program, &scene.management, &scene.admin).await?;
    Ok(Measure::at_most(
        "start among them all until Discovery is answered, s",
        provider.to_begin.as_secs_f64(),
        CORE_WAITS.as_secs_f64(),
    ))
}
