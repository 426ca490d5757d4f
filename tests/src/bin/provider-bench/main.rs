//! What careen-provider costs with 10,000 nodes in flight, and how that grows from 100.
//!
//! ```text
//! provider-bench [--nodes 100,1000,10000]
//! ```
//!
//! Real: both API servers with their etcd, the program with the rights of its release, TLS, every request and every watch. Played: core
//! (`caller`), the agents and kubelets. Each size has new clusters and a new process. Prints a table and leaves the numbers in
//! `provider-bench.json`, beside the VM's. Takes the program that lies beside itself, wants a quiet machine and about half an hour.

mod agents;
mod caller;
mod calls;
mod conditions;
mod credential;
mod hooks;
mod landing;
mod load;
mod machines;
mod process;
mod quiet;
mod row;
mod scene;
mod server;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use careen_tests::requests::Requests;
use vm_tests::runner::out;

use agents::Agents;
use caller::Caller;
use conditions::Conditions;
use hooks::Hooks;
use landing::{ByHand, Landing};
use process::Provider;
use row::{Measure, Size};
use scene::Scene;

/// The sizes where nobody names others.
const SIZES: &str = "100,1000,10000";

/// What two cores and one etcd can hold; and what is too few to measure anything with.
const BOUNDS: std::ops::RangeInclusive<usize> = 10..=20_000;

/// How long the process has until it idles, or until what it was to write is written.
const SETTLE: Duration = Duration::from_secs(10);

/// What its own facts of a node take, without connections and TLS: `cargo test -p careen-provider --test scale`.
const FACTS: f64 = 3.1;

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (sizes, program) = (sizes(&arguments)?, program()?);
    let mut measured = Vec::new();
    let mut ended = Ok(());
    for nodes in sizes {
        match at(nodes, &program).await {
            Ok(measures) => measured.push(Size { nodes, measures }),
            Err(error) => {
                ended = Err(error.context(format!("with {nodes} nodes")));
                break;
            }
        }
    }
    row::print(&measured);
    let file = out().join("provider-bench.json");
    std::fs::create_dir_all(out())?;
    std::fs::write(&file, serde_json::to_string_pretty(&measured)?)?;
    println!("the numbers are in {}", file.display());
    ended
}

fn sizes(arguments: &[String]) -> Result<Vec<usize>> {
    let list: &str = match arguments {
        [] => SIZES,
        [flag, list] if flag == "--nodes" => list,
        _ => bail!("usage: provider-bench [--nodes {SIZES}]"),
    };
    let size = |text: &str| {
        let size: usize = text
            .parse()
            .with_context(|| format!("--nodes {text:?} is no number"))?;
        ensure!(
            BOUNDS.contains(&size),
            "--nodes {size}: accepted are {BOUNDS:?}"
        );
        Ok(size)
    };
    list.split(',').map(size).collect()
}

/// Built into the same folder.
fn program() -> Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name("careen-provider");
    ensure!(
        program.exists(),
        "there is no {}; build it with the same profile: cargo build -p careen-provider",
        program.display()
    );
    Ok(program)
}

/// All that is measured at one size.
async fn at(nodes: usize, program: &Path) -> Result<Vec<Measure>> {
    eprintln!("{nodes} nodes: two new clusters");
    let scene = Scene::start().await?;
    let admin = &scene.workload.admin;
    let requests = Requests::of_user(admin, "careen-bench", &credential::user()).await?;
    let provider = Provider::start(program, &scene).await?;
    tokio::time::sleep(SETTLE).await;
    let idle = provider.memory()?;
    scene.fill(nodes).await?;

    let hooks = Arc::new(Hooks::trusted(provider.hooks, &scene.admin).await?);
    let landing = Arc::new(Landing {
        agents: Agents::start(admin),
        conditions: Conditions::watch(scene.infra_machines()),
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
    Ok(all)
}
