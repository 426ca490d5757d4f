//! The command line, parsed into types before anything is read.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use upgrade::{Version, release};

/// Looks at a kubeadm control plane from one of its nodes. It changes nothing.
#[derive(Debug, Parser)]
#[command(name = "careen-control", version = release::THIS)]
pub struct Cli {
    /// The root of the node's files.
    #[arg(long, global = true, default_value = "/", hide = true)]
    pub root: PathBuf,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// One verb a run.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Show members, versions, certificates and room, and what an upgrade would meet.
    Survey(Survey),
}

/// What to survey.
#[derive(Debug, Args)]
pub struct Survey {
    /// The Kubernetes version of the image to upgrade to, for example v1.36.3. Without it the
    /// survey shows only what is there.
    #[arg(long, value_name = "VERSION")]
    pub target_version: Option<Version>,
    /// Print the survey and its findings as JSON.
    #[arg(long)]
    pub json: bool,
}
