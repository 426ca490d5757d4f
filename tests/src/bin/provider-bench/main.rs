//! The cost of careen-provider with 10,000 nodes in flight, and how the cost grows from 100 nodes.
//! Also how soon Cluster API's own managers see its answers, and the cost of 10,000 prepared hosts.
//!
//! ```text
//! provider-bench [--nodes 100,1000,10000 | --machines 200 [--minor v1.13] | --hosts 10000]
//! ```
//!
//! Real: both API servers with their etcd, the program with the rights of its release, TLS, every
//! request and every watch. Played: the agents and kubelets and, at the sizes of `--nodes`, core
//! (`caller`), because the real core does not reach these sizes on two cores. With `--machines` the
//! managers are the real ones (`managers`). The benchmark builds them on first use, from the newest
//! minor unless `--minor` names another. With `--hosts` the hosts are played (`hosts`). Each part
//! has new clusters and a new process.
//!
//! Prints tables and writes the numbers to `provider-bench.json`, `provider-bench-managers.json` and
//! `provider-bench-hosts.json`, next to the VM's numbers. For an older minor the file name ends
//! with that minor. It runs the program in its own folder, and needs an otherwise idle machine and
//! about three quarters of an hour.

mod agents;
mod arguments;
mod caller;
mod calls;
mod conditions;
mod credential;
mod hooks;
mod hosts;
mod landing;
mod load;
mod machines;
mod managers;
mod played;
mod process;
mod quiet;
mod row;
mod scene;
mod server;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use testkit::cluster_api::Version;
use testkit::programs::out;

use arguments::Wanted;
use row::Size;

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [argument, kubeconfig] = &arguments[..]
        && argument == hosts::bare::ARGUMENT
    {
        return hosts::bare::run(kubeconfig).await;
    }
    let (wanted, program) = (Wanted::of(&arguments)?, program()?);
    if !wanted.nodes.is_empty() {
        let (sizes, ended) = played::at_sizes(&wanted.nodes, &program).await;
        leave("nodes in flight", &sizes, "provider-bench.json")?;
        ended?;
    }
    if let Some(machines) = wanted.machines {
        let minor = wanted.minor;
        let measures = managers::with(machines, minor, &program).await?;
        let size = Size {
            nodes: machines,
            measures,
        };
        let head = format!(
            "Machines, with Cluster API {}'s own managers",
            minor.as_str()
        );
        leave(&head, &[size], &numbers_of(minor))?;
    }
    if let Some(hosts) = wanted.hosts {
        let measures = hosts::measure(hosts, &program).await?;
        let size = Size {
            nodes: hosts,
            measures,
        };
        leave("prepared hosts", &[size], "provider-bench-hosts.json")?;
    }
    Ok(())
}

/// The file for the results with the managers of a minor. Each minor has its own file.
fn numbers_of(minor: Version) -> String {
    match minor {
        Version::NEWEST => "provider-bench-managers.json".to_owned(),
        older => format!("provider-bench-managers-{}.json", older.as_str()),
    }
}

/// Prints the table and saves the numbers.
fn leave(head: &str, sizes: &[Size], file: &str) -> Result<()> {
    row::print(head, sizes);
    let file = out().join(file);
    std::fs::create_dir_all(out())?;
    std::fs::write(&file, serde_json::to_string_pretty(sizes)?)?;
    println!("the numbers are in {}", file.display());
    Ok(())
}

/// The path of the program, which cargo builds into the same folder.
fn program() -> Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name("careen-provider");
    ensure!(
        program.exists(),
        "there is no {}; build it with the same profile: CARGO_PROFILE_IMAGE_PANIC=unwind cargo build --profile image -p careen-provider",
        program.display()
    );
    Ok(program)
}
