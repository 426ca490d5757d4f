//! What careen-provider costs with 10,000 nodes in flight, how that grows from 100, and how soon Cluster API's own managers see what it
//! answers.
//!
//! ```text
//! provider-bench [--nodes 100,1000,10000 | --machines 200 [--minor v1.13]]
//! ```
//!
//! Real: both API servers with their etcd, the program with the rights of its release, TLS, every request and every watch. Played: the
//! agents and kubelets, and at the sizes of `--nodes` core (`caller`), which does not reach them on two cores. With `--machines` the
//! managers are the real ones (`managers`), built on first use, of the newest minor unless `--minor` says another. Each part has new
//! clusters and a new process. Prints tables and leaves the numbers in `provider-bench.json` and `provider-bench-managers.json` (of an
//! older minor, with its name at the end), beside the VM's. Takes the program that lies beside itself, wants a quiet machine and about
//! three quarters of an hour.

mod agents;
mod arguments;
mod caller;
mod calls;
mod conditions;
mod credential;
mod hooks;
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
use vm_tests::cluster_api::Version;
use vm_tests::runner::out;

use arguments::Wanted;
use row::Size;

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
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
    Ok(())
}

/// The file for the numbers that the managers of a minor come to: one minor never stands for another.
fn numbers_of(minor: Version) -> String {
    match minor {
        Version::NEWEST => "provider-bench-managers.json".to_owned(),
        older => format!("provider-bench-managers-{}.json", older.as_str()),
    }
}

/// Prints the table and keeps the numbers.
fn leave(head: &str, sizes: &[Size], file: &str) -> Result<()> {
    row::print(head, sizes);
    let file = out().join(file);
    std::fs::create_dir_all(out())?;
    std::fs::write(&file, serde_json::to_string_pretty(sizes)?)?;
    println!("the numbers are in {}", file.display());
    Ok(())
}

/// Built into the same folder.
fn program() -> Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name("careen-provider");
    ensure!(
        program.exists(),
        "there is no {}; build it with the same profile: CARGO_PROFILE_IMAGE_PANIC=unwind cargo build --profile image -p careen-provider",
        program.display()
    );
    Ok(program)
}
