//! The command line, in a separate file: `careen-pages` generates the manual page and the
//! completions from it, without libostree.

use std::path::PathBuf;

use clap::Parser;

/// Wraps an OSTree commit in a container image, pushes it and prints what careen.dev/image takes.
#[derive(Debug, Parser)]
#[command(name = "careen-image", version = upgrade::release::THIS)]
pub struct Cli {
    /// The OSTree repository.
    #[arg(long)]
    pub repo: PathBuf,
    /// The registry's credentials, in the form that `skopeo login` writes.
    #[arg(long)]
    pub authfile: Option<PathBuf>,
    /// The branch or commit.
    pub revision: String,
    /// Where to push: docker://<host>/<name>:<tag>; for a site without a network oci-archive:<path>
    /// or oci:<path>.
    pub destination: String,
}
