//! C1 to C8 of the benchmarks: what an upgrade of a control plane costs, each beside the same by
//! hand in the same call.
//!
//! The control planes are those of the native tests: real kubeadm, etcd and API servers, static
//! pods as processes, and a reboot that is a power cut. So the figures leave out what a kernel, a
//! container runtime and a kubelet take. It prints a table and writes the numbers of every run to
//! `control-bench.json`, next to the VM's numbers.

mod arguments;
mod hand;
#[allow(dead_code, clippy::unwrap_used)]
#[path = "../../tests/upgrade/host.rs"]
mod host;
mod measured;
mod outages;
mod raise;
mod scene;
mod single;
mod snapshot;
mod survey;
mod turns;
mod ways;

use anyhow::Result;
use arguments::{Arguments, Part};
use careen_tests::row::{self, Row};
use clap::Parser;
use testkit::programs::out;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(command) = arguments.measured() {
        // No thread has started yet: the memory of this process is part of what is measured.
        return measured::print(command);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(measure(&arguments))
}

async fn measure(arguments: &Arguments) -> Result<()> {
    let control = arguments.control()?;
    let mut rows = Vec::new();
    for part in &arguments.parts {
        rows.extend(match part {
            Part::Turns => turns::measure(&control, arguments.runs).await?,
            Part::Raise => raise::measure(&control).await?,
            Part::Single => single::measure(&control, arguments.runs).await?,
            Part::Snapshot => snapshot::measure(&control, arguments.runs).await?,
            Part::Survey => survey::measure(&control, arguments.runs).await?,
        });
        keep(&rows)?;
    }
    row::print(&rows);
    println!(
        "every run's numbers are in {}",
        out().join("control-bench.json").display()
    );
    Ok(())
}

/// Written after every part, because a long benchmark may be interrupted.
fn keep(rows: &[Row]) -> Result<()> {
    std::fs::create_dir_all(out())?;
    let text = serde_json::to_string_pretty(rows)?;
    Ok(std::fs::write(out().join("control-bench.json"), text)?)
}
