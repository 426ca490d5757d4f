//! `vm-tests`: lists and runs the scenarios, opens a shell in a joined node, shows the demo.

mod bench;
mod changed;
mod choice;
mod demo;
mod outcome;
mod passed;
mod runner;
mod shell;
mod side_by_side;
mod time;
mod trio;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use rig::{adopted, far, kubectl_careen, prepared_host};
use soak::Soak;
use testkit::{programs, registry};

/// Scenarios on a virtual machine: a joined Kubernetes node, its cluster, and every failure to
/// cause.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List the scenarios; those of the core are marked.
    List,
    /// Run one scenario by name, `core`, or `all`.
    Run(Run),
    /// Run one scenario for `run --jobs`.
    #[command(hide = true)]
    RunForALane { name: String },
    /// Show the whole upgrade in one of the ways to use Careen.
    Demo {
        /// The way to show.
        #[arg(value_enum, default_value_t = demo::Way::Annotate)]
        way: demo::Way,
    },
    /// Measure upgrades against the same upgrade done by hand.
    Bench {
        /// How often; both ways take about 6 to 14 minutes together.
        #[arg(long, default_value_t = 5)]
        runs: usize,
        /// How many at a time.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
        jobs: u8,
    },
    /// Run one measurement of `bench`.
    #[command(hide = true)]
    BenchForALane { number: usize },
    /// Cut the power in the middle of an upgrade, again and again, and check what the node does.
    Soak {
        /// How often; each costs a boot.
        #[arg(long, default_value_t = 100)]
        cuts: usize,
        /// The same seed makes the same cuts.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// How many at a time.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
        jobs: u8,
        /// Make only this cut of the plan, once more.
        #[arg(long, value_name = "NUMBER")]
        only: Option<usize>,
    },
    /// Make the recording of `soak`.
    #[command(hide = true)]
    SoakRecord { folder: PathBuf },
    /// Make one cut of `soak`.
    #[command(hide = true)]
    SoakCut { folder: PathBuf, cut: String },
    /// Upgrade three machines of one control plane, one after the other.
    Trio {
        /// How far to go.
        #[arg(long, value_enum, default_value_t = trio::Until::End)]
        until: trio::Until,
    },
    /// Run `trio` in this lane.
    #[command(hide = true)]
    TrioForALane {
        #[arg(value_enum)]
        until: trio::Until,
    },
    /// Open a shell in a joined node.
    Shell,
}

/// The arguments of `run`.
#[derive(Args)]
struct Run {
    /// A name from `list`, `core` or `all`.
    which: String,
    /// With `core`: also the scenarios whose turn it is for this commit.
    #[arg(long, value_name = "COMMIT")]
    turn_from: Option<String>,
    /// Start no scenario outside the core after this many minutes.
    #[arg(long)]
    minutes: Option<u64>,
    /// How many at a time. Each takes about 3 GB of memory and four fifths of a core.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    jobs: u8,
    /// With `all`: also run those that have passed with the same content.
    #[arg(long)]
    fresh: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match perform(Arguments::parse().verb).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("vm-tests: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn perform(verb: Verb) -> Result<bool> {
    match verb {
        Verb::List => Ok(list()),
        Verb::Run(wanted) => run(wanted).await,
        Verb::RunForALane { name } => {
            let chosen = choice::choose(&name, None)?;
            runner::run_for_a_lane(&chosen[0]).await
        }
        Verb::Bench { runs, jobs } => bench::run(runs, usize::from(jobs)).await.map(|()| true),
        Verb::BenchForALane { number } => bench::run_for_a_lane(number).await.map(|()| true),
        Verb::Soak {
            cuts,
            seed,
            jobs,
            only,
        } => {
            let jobs = usize::from(jobs);
            soak::run(Soak {
                cuts,
                seed,
                jobs,
                only,
            })
            .await
        }
        Verb::SoakRecord { folder } => soak::record_for_a_lane(&folder).await.map(|()| true),
        Verb::SoakCut { folder, cut } => soak::cut_for_a_lane(&folder, &cut).await.map(|()| true),
        Verb::Demo { way } => demo::run(way).await.map(|()| true),
        Verb::Trio { until } => trio::run(until).await.map(|()| true),
        Verb::TrioForALane { until } => trio::run_for_a_lane(until).await.map(|()| true),
        Verb::Shell => shell::run().await.map(|()| true),
    }
}

fn list() -> bool {
    for scenario in scenarios::ALL {
        println!(
            "{} {}",
            if scenario.core { "core " } else { "     " },
            scenario.name
        );
    }
    true
}

async fn run(wanted: Run) -> Result<bool> {
    let chosen = choice::choose(&wanted.which, wanted.turn_from.as_deref())?;
    let any = |is: fn(&str) -> bool| chosen.iter().any(|scenario| is(scenario.name));
    if any(scenarios::is_on_cluster_api) {
        adopted::build()?;
    }
    if any(scenarios::wants_a_prepared_host) {
        prepared_host::build()?;
    }
    if any(scenarios::types_kubectl_careen) {
        kubectl_careen::build()?;
    }
    if any(scenarios::wants_a_registry) {
        registry::prepare()?;
    }
    if any(scenarios::wants_a_csi_driver) {
        programs::csi()?;
    }
    if any(scenarios::wants_a_control_plane) {
        far::prepare()?;
    }
    // The scenario may use Helm, and a lane cannot fetch Helm's modules.
    if any(|name| name.starts_with("a-daemonset-")) {
        programs::helm()?;
    }
    let minutes = wanted.minutes;
    let how = runner::How {
        jobs: usize::from(wanted.jobs),
        for_others: minutes.map(|minutes| Duration::from_secs(60 * minutes)),
        go_on: wanted.which == "all" && !wanted.fresh,
    };
    runner::run(&chosen, how).await
}
