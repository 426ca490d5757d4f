//! The command line, in a file of its own: `careen-pages` makes the manual page and the completions from it, without libostree.

use std::path::PathBuf;

use clap::Parser;

/// Wraps an OSTree commit in a container image, pushes it and prints what careen.dev/image takes.
#[derive(Debug, Parser)]
#[command(name = "careen-image", version = upgrade::release::THIS)]
pub struct Cli {
    /// The OSTree repository.
    #[arg(long)]
    pub repo: PathBuf,
    /// Credentials for the registry, as `skopeo login` writes them.
    #[arg(long)]
    pub authfile: Option<PathBuf>,
    /// The branch or commit.
    pub revision: String,
    /// docker://<host>/<name>:<tag>, or oci-archive:<path> or oci:<path> for a site without a network.
    pub destination: String,
}
