//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use upgrade::release;

/// Installs Careen on the node from a DaemonSet's pod, watches it, updates it and removes it.
#[derive(Debug, Parser)]
#[command(name = "careen-installer", version = release::THIS)]
pub struct Cli {
    /// The host's root, as the pod has it mounted.
    #[arg(long, global = true, default_value = "/host")]
    pub root: PathBuf,
    /// The folder with the files to install.
    #[arg(long, global = true, default_value = "/careen")]
    pub bundle: PathBuf,
    /// The file in which the working process reports to `ready`.
    #[arg(long, global = true, default_value = "/run/careen-installer/health")]
    pub health: PathBuf,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum Verb {
    /// Install the agent, watch it and update it until stopped. Stopping removes nothing.
    Install,
    /// Remove what a pod has installed on this node, unless an upgrade is under way; then wait to
    /// be deleted.
    Uninstall,
    /// For the readiness probe: print the state, and exit with 1 when not ready.
    Ready,
}
