//! The images of a control plane for the guest's container runtime. Their program is a far pod.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use testkit::script::{read, script};
use testkit::{cargo, programs};

use super::shared::Programs;

/// The components whose program is one of Kubernetes.
const COMPONENTS: [&str; 3] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
];

/// A static program is the same in any image.
const STATIC: &str = "x86_64-unknown-linux-gnu";

/// The image of all sandboxes. That of the node ignores SIGTERM, and static pods are there until the
/// end of a shutdown, which would wait 90 s for it.
const PAUSE: &str = "localhost/pause:rig";

/// The images that kubeadm of some versions wants.
#[derive(Debug, Default)]
pub struct Images {
    names: BTreeSet<String>,
    /// The programs that are far.
    pub programs: Programs,
}

/// The minors whose images a control-plane node gets.
pub const MINORS: [&str; 2] = ["v1.35", "v1.36"];

/// Builds all programs before a scenario's clock starts.
///
/// # Errors
///
/// Fails when a program does not build.
pub fn prepare() -> Result<()> {
    Images::of(&MINORS)?;
    program()?;
    programs::etcd()?;
    programs::ours("careen-control").map(drop)
}

/// The program of all far images, linked statically. Built on first use.
fn program() -> Result<PathBuf> {
    let target = programs::cache()?.join("target");
    let package = ["-p", "far-pod", "--target", STATIC];
    cargo::build(&target, "stage", &package, "-C target-feature=+crt-static")?;
    Ok(target.join(STATIC).join("stage/far-pod"))
}

impl Images {
    /// The images of these minors, such as `v1.36`. Their programs are built on first use.
    ///
    /// # Errors
    ///
    /// Fails when a program does not build.
    pub fn of(minors: &[&str]) -> Result<Self> {
        let mut this = Self::default();
        this.names.insert(PAUSE.to_owned());
        for minor in minors {
            this.add(&programs::kubernetes(minor)?)?;
        }
        Ok(this)
    }

    /// kubeadm knows the tags of its version.
    fn add(&mut self, bin: &Path) -> Result<()> {
        let kubeadm = bin.join("kubeadm");
        let version = read(&kubeadm, ["version", "-o", "short"])?;
        let list = ["config", "images", "list", "--kubernetes-version", &version];
        for name in read(&kubeadm, list)?.lines() {
            let image = name.rsplit('/').next().context("an image without a name")?;
            let component = image.split(':').next().unwrap_or_default();
            if COMPONENTS.contains(&component) {
                self.programs.insert(image.to_owned(), bin.join(component));
            }
            self.names.insert(name.to_owned());
        }
        Ok(())
    }

    /// Writes them as an archive, for pods that find the rig at this address. The program of etcd
    /// is the real one: its data must be in the guest.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be written.
    pub fn write(&self, rig: &str, to: &Path) -> Result<()> {
        let (pod, etcd) = (program()?, programs::etcd()?);
        let mut words = vec![&*pod, &*etcd, Path::new(rig), to];
        words.extend(self.names.iter().map(Path::new));
        script("far.sh", &words)
    }
}
