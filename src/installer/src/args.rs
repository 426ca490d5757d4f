//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use upgrade::release;

/// Runs in a DaemonSet's pod: brings Careen to the node, watches it there, updates it and removes it.
#[derive(Debug, Parser)]
#[command(name = "careen-installer", version = release::THIS)]
pub struct Cli {
    /// The host's root, as far as the pod has it mounted.
    #[arg(long, global = true, default_value = "/host")]
    pub root: PathBuf,
    /// The folder with what is to be installed.
    #[arg(long, global = true, default_value = "/careen")]
    pub bundle: PathBuf,
    /// The file in which the process that works tells `ready` how it is.
    #[arg(long, global = true, default_value = "/run/careen-installer/health")]
    pub health: PathBuf,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum Verb {
    /// Install, watch, update; until told to stop. Stopping removes nothing.
    Install,
    /// Remove from this node what a pod has installed, unless an upgrade is under way; then wait to be deleted.
    Uninstall,
    /// For the readiness probe: says how it is, and ends with 1 when it is not well.
    Ready,
}
