//! The base trees: Debian, one kernel, one Kubernetes; nothing of Careen.

use std::path::PathBuf;

use anyhow::Result;
use testkit::cache::{Key, built};
use testkit::debian::{containers, root};
use testkit::programs;
use testkit::script::{beside, read, script, step};

/// The kernel and the Kubernetes version of a base tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// Debian's cloud kernel and Kubernetes v1.35.
    First,
    /// Debian's generic kernel and Kubernetes v1.36.
    Second,
    /// The first one's kernel and Kubernetes v1.36.
    SecondOnFirstKernel,
}

impl Base {
    /// The name of its folder and of its ref below `base/`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::First => "tree-v1",
            Self::Second => "tree-v2",
            Self::SecondOnFirstKernel => "tree-v2-same-kernel",
        }
    }

    /// The base in whose tree the initramfs is made. Bases with the same kernel share the same
    /// initramfs bytes.
    pub const fn of_initramfs(self) -> Self {
        match self {
            Self::SecondOnFirstKernel => Self::First,
            other => other,
        }
    }

    const fn flavour(self) -> &'static str {
        match self {
            Self::First | Self::SecondOnFirstKernel => "cloud",
            Self::Second => "generic",
        }
    }

    const fn minor(self) -> &'static str {
        match self {
            Self::First => "v1.35",
            Self::Second | Self::SecondOnFirstKernel => "v1.36",
        }
    }

    /// The version that its kubelet reports.
    pub const fn kubernetes(self) -> &'static str {
        match self {
            Self::First => "v1.35.4",
            Self::Second | Self::SecondOnFirstKernel => "v1.36.3",
        }
    }

    /// The program that is both its kubelet and its kubeadm, by the name of the call. Built on
    /// first use.
    fn kube(self) -> Result<PathBuf> {
        let build = programs::home().join("kube/build.sh");
        read(build, [self.minor(), "node"]).map(PathBuf::from)
    }

    /// Its tree, built on first use.
    ///
    /// # Errors
    ///
    /// Fails when a step fails.
    pub fn tree(self) -> Result<PathBuf> {
        let root = root()?;
        let containers = containers()?;
        let kube = self.kube()?;
        let key = Key::default()
            .files(&beside("tree.sh"))?
            .files(&beside("unused-files.txt"))?
            .files(&beside("unused-modules.txt"))?
            .files(&beside("unused-units.txt"))?
            .files(&beside("files"))?
            .text(self.flavour())
            .built(&root)
            .built(&containers)
            .built(&kube);
        built(self.name(), &key, |out| {
            step(
                &format!(
                    "{}: {} kernel, Kubernetes {}",
                    self.name(),
                    self.flavour(),
                    self.kubernetes()
                ),
                || {
                    script(
                        "tree.sh",
                        &[&root, self.flavour().as_ref(), &kube, &containers, out],
                    )
                },
            )
        })
    }
}

/// The Kubernetes versions of nodes, the older one first, each with its kubelet and kubeadm
/// program.
///
/// # Errors
///
/// Fails when one does not build.
pub fn kubernetes() -> Result<[(&'static str, PathBuf); 2]> {
    let of = |base: Base| Ok::<_, anyhow::Error>((base.kubernetes(), base.kube()?));
    Ok([of(Base::First)?, of(Base::Second)?])
}
