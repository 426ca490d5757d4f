//! The command line, parsed into types before anything is read.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use upgrade::{UpgradeId, Version, release};

/// Where containerd listens.
const RUNTIME: &str = "/run/containerd/containerd.sock";

/// Looks at a kubeadm control plane from one of its nodes, prepares its upgrade, and raises it.
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
    /// Raise this node's control plane with another version's kubeadm.
    Raise(Raise),
    /// Give up a raise that did not end well: its manifests stay as they are, and no repair changes
    /// them any more.
    GiveUp(GiveUp),
}

/// What to survey.
#[derive(Debug, Args)]
pub struct Survey {
    /// The Kubernetes version of the image to upgrade to, for example v1.36.3. Without it the
    /// survey shows only what is there.
    #[arg(long, value_name = "VERSION")]
    pub target_version: Option<Version>,
    /// The kubeadm of that image. With it the survey knows the new etcd, and asks the container
    /// runtime for the images.
    #[arg(long, value_name = "FILE", requires = "target_version")]
    pub kubeadm: Option<PathBuf>,
    /// The folder of the images that the image carries. The container runtime need not have them
    /// yet.
    #[arg(long, value_name = "FOLDER", requires = "kubeadm")]
    pub images: Option<PathBuf>,
    /// The socket of the container runtime.
    #[arg(long, value_name = "SOCKET", default_value = RUNTIME)]
    pub runtime_socket: PathBuf,
    /// The folder of kubeadm's patches; empty: none. Without it: /etc/kubernetes/patches, if it
    /// exists.
    #[arg(long, value_name = "FOLDER")]
    pub patches: Option<String>,
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

/// What to raise.
#[derive(Debug, Args)]
pub struct Raise {
    /// The upgrade that this is a part of. It names the ledger, so a run that continues another one
    /// has the same.
    #[arg(long, value_name = "ID")]
    pub upgrade: UpgradeId,
    /// The Kubernetes version to raise to, for example v1.36.3.
    #[arg(long, value_name = "VERSION")]
    pub target_version: Version,
    /// The kubeadm of that version.
    #[arg(long, value_name = "FILE")]
    pub kubeadm: PathBuf,
    /// A folder of images that the container runtime gets before kubeadm runs: archives (*.tar) for
    /// containerd.
    #[arg(long, value_name = "FOLDER")]
    pub images: Option<PathBuf>,
    /// The socket of the container runtime.
    #[arg(long, value_name = "SOCKET", default_value = RUNTIME)]
    pub runtime_socket: PathBuf,
    /// A folder with the kubelet that runs, which kubeadm asks for its version.
    #[arg(long, value_name = "FOLDER")]
    pub old_kubelet_path: Vec<PathBuf>,
    /// The folder of kubeadm's patches; empty: none. Without it: /etc/kubernetes/patches, if it
    /// exists.
    #[arg(long, value_name = "FOLDER")]
    pub patches: Option<String>,
    /// Checks of kubeadm's whose errors do not count.
    #[arg(long, value_name = "CHECK", value_delimiter = ',')]
    pub ignore_preflight_errors: Vec<String>,
    /// Additional phases of `kubeadm upgrade` to skip. kubelet-config and addon never run.
    #[arg(long, value_name = "PHASE", value_delimiter = ',')]
    pub skip_phases: Vec<String>,
    /// How long kubeadm waits for each static pod.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub pod_seconds: u64,
    /// How long the components may take to serve, before and after kubeadm.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub serving_seconds: u64,
    /// Remove kubeadm's copies of etcd from before this moment, in seconds since 1970.
    #[arg(long, value_name = "SECONDS")]
    pub prune_before: Option<u64>,
    /// The physical root, which has the ledger.
    #[arg(long, hide = true)]
    pub sysroot: Option<PathBuf>,
}

/// Which raise to give up.
#[derive(Debug, Args)]
pub struct GiveUp {
    /// The upgrade that it is a part of.
    #[arg(long, value_name = "ID")]
    pub upgrade: UpgradeId,
    /// The physical root, which has the ledger.
    #[arg(long, hide = true)]
    pub sysroot: Option<PathBuf>,
}
