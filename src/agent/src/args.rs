//! The command line. It is a separate file because `careen-pages` makes the manual page and the
//! completions from it.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use upgrade::{names, release};

/// Upgrades this node when its Node object requests it.
#[derive(Debug, Parser)]
#[command(name = "careen-agent", version = release::THIS)]
pub struct Cli {
    /// The root of the running system.
    #[arg(long, global = true, value_name = "FOLDER", default_value = "/", value_parser = folder)]
    pub root: PathBuf,
    /// The kubelet's kubeconfig.
    #[arg(long, global = true, value_name = "FILE", default_value = names::KUBELET_CONF)]
    pub kubeconfig: PathBuf,
    /// The node's policy.
    #[arg(long, global = true, value_name = "FILE", default_value = names::POLICY_FILE)]
    pub policy: PathBuf,
    /// Log more.
    #[arg(long, short, global = true)]
    pub verbose: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Watch the Node and serve its requests (the default).
    Run,
    /// Find the newest agent on this node, the image's or a DaemonSet's, and run it.
    Launch,
    /// Run `kubeadm upgrade node` for the upgrade on trial, before the kubelet starts.
    KubeadmUpgrade,
    /// Print the record as JSON.
    Record,
    /// Check all that this node needs for an upgrade, and say how to fix it. Changes nothing
    /// without `--fix`. Exits with 0 when all checks are ok, 4 when the worst is a warning, 3 when
    /// something is bad, 1 when it could not begin.
    Doctor {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Do not ask the API server.
        #[arg(long)]
        offline: bool,
        /// First, on a control plane, move /etc/kubernetes to a folder that all deployments share.
        /// The kubelet stops for some seconds; containers continue to run.
        #[arg(long)]
        fix: bool,
    },
    /// Print the metrics once, for node_exporter's textfile collector. Leaves out what the API
    /// server knows.
    Metrics,
}

/// Parses a folder. The checks of a root that does not exist would all fail, each with its own fix.
fn folder(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.is_dir() {
        return Ok(path);
    }
    Err("it is not a folder; use the root of a system, for example /".to_owned())
}
