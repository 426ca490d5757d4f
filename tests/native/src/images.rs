//! The programs of a Kubernetes version, laid out as the images that kubeadm's manifests name.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use testkit::programs;

/// What is on the PATH of a member.
const COMMANDS: [&str; 3] = ["kubeadm", "kubectl", "kubelet"];

/// The static pods that run a program of the Kubernetes version.
const COMPONENTS: [&str; 3] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
];

/// A folder of images and the commands of one version.
#[derive(Debug)]
pub struct Images {
    folder: PathBuf,
    version: String,
    /// The program of etcd.
    etcd: PathBuf,
}

impl Images {
    /// Lays out the images of one minor, such as `v1.36`, below `folder`. Images of another minor
    /// may be there already.
    ///
    /// # Errors
    ///
    /// Fails when a program cannot be built.
    pub fn lay_out(folder: &Path, minor: &str) -> Result<Self> {
        let (kubernetes, etcd) = (programs::kubernetes(minor)?, programs::etcd_of(minor)?);
        Self::of(folder, &kubernetes, &etcd)
    }

    /// Lays out the next patch of these images' version: the same programs with another version in
    /// them.
    ///
    /// # Errors
    ///
    /// Fails when the programs cannot be copied.
    pub fn next_patch(&self) -> Result<Self> {
        let programs = programs::next_patch(&self.commands().join("kubeadm"), &self.version)?;
        Self::of(&self.folder, &programs, &self.etcd)
    }

    /// Gives the program of etcd one more tag.
    ///
    /// # Errors
    ///
    /// Fails when its link cannot be made.
    pub fn tag_etcd(&self, tag: &str) -> Result<()> {
        let image = self.folder.join(format!("etcd:{tag}"));
        link(&self.etcd, &image.join("etcd"))
    }

    fn of(folder: &Path, programs: &Path, etcd: &Path) -> Result<Self> {
        let kubeadm = programs.join("kubeadm");
        let version = said(&kubeadm, &["version", "-o", "short"])?;
        let this = Self {
            folder: folder.to_owned(),
            version: version.trim().to_owned(),
            etcd: etcd.to_owned(),
        };
        for name in COMMANDS {
            link(&programs.join(name), &this.commands().join(name))?;
        }
        for name in COMPONENTS {
            let image = folder.join(format!("{name}:{}", this.version));
            link(&programs.join(name), &image.join(name))?;
        }
        let image = folder.join(this.etcd_image(&kubeadm)?);
        link(etcd, &image.join("etcd"))?;
        Ok(this)
    }

    /// The folder of all images.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder with `kubeadm`, `kubectl` and `kubelet`.
    #[must_use]
    pub fn commands(&self) -> PathBuf {
        self.folder.join(format!("bin-{}", self.version))
    }

    /// The full version, such as `v1.36.3`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// kubeadm decides on the tag. The program is the etcd of that minor that this source tree builds.
    fn etcd_image(&self, kubeadm: &Path) -> Result<String> {
        let arguments = [
            "config",
            "images",
            "list",
            "--kubernetes-version",
            &self.version,
        ];
        let list = said(kubeadm, &arguments)?;
        let mut names = list.lines().filter_map(|image| image.rsplit('/').next());
        let name = names.find(|name| name.starts_with("etcd:"));
        Ok(name.context("kubeadm lists no image of etcd")?.to_owned())
    }
}

fn link(to: &Path, at: &Path) -> Result<()> {
    if let Some(folder) = at.parent() {
        fs::create_dir_all(folder)?;
    }
    // Two versions may have the same etcd.
    if at.is_symlink() {
        return Ok(());
    }
    symlink(to, at).with_context(|| format!("cannot link {}", at.display()))
}

fn said(program: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{}: {complaint}",
        program.display()
    );
    Ok(String::from_utf8(output.stdout)?)
}
