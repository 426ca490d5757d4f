//! The command line, parsed into types before anything is read.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use upgrade::{UpgradeId, Version, release};

/// Looks at a kubeadm control plane from one of its nodes, and prepares its upgrade.
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
    /// Take the lock of the control plane, the Lease kube-system/careen-control-plane, for an
    /// upgrade of this node.
    Lock(Upgrade),
    /// Release the lock if this upgrade of this node holds it.
    Unlock(Upgrade),
    /// Save etcd to /var/lib/careen/etcd and verify the snapshot.
    Save(Save),
    /// Let another member lead etcd, if the one of this node leads.
    Yield(Yield),
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

/// For which upgrade.
#[derive(Debug, Args)]
pub struct Upgrade {
    /// The id of the upgrade.
    #[arg(long, value_name = "ID")]
    pub upgrade: UpgradeId,
    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// What to save.
#[derive(Debug, Args)]
pub struct Save {
    /// The upgrade.
    #[command(flatten)]
    pub upgrade: Upgrade,
    /// How many snapshots stay on this node, the new one too.
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=20))]
    pub keep: u8,
}

/// How to print.
#[derive(Debug, Args)]
pub struct Yield {
    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,
}
