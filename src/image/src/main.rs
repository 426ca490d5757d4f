//! `careen-image`: a built OSTree commit as a container image that nodes can be upgraded to.

use std::path::PathBuf;
use std::process::ExitCode;

use careen_image::destination::Destination;
use careen_image::{Order, push};
use clap::Parser;

/// Wraps an OSTree commit in a container image, pushes it and prints what careen.dev/image takes.
#[derive(Debug, Parser)]
#[command(name = "careen-image", version = upgrade::release::THIS)]
struct Cli {
    /// The OSTree repository.
    #[arg(long)]
    repo: PathBuf,
    /// Credentials for the registry, as `skopeo login` writes them.
    #[arg(long)]
    authfile: Option<PathBuf>,
    /// The branch or commit.
    revision: String,
    /// docker://<host>/<name>:<tag>, or oci-archive:<path> or oci:<path> for a site without a network.
    destination: Destination,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let order = Order {
        repo: cli.repo,
        revision: cli.revision,
        destination: cli.destination,
        authfile: cli.authfile,
    };
    match push(&order) {
        Ok(image) => {
            println!("{image}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("careen-image: {error:#}");
            ExitCode::FAILURE
        }
    }
}
