//! A node's folders. They differ between the running system, the initramfs and a test.

use std::path::{Path, PathBuf};

use upgrade::{Digest, UpgradeId, names};

/// The folders that all other paths start from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The root of the running system.
    pub root: PathBuf,
    /// The physical root, which holds `ostree/`.
    pub sysroot: PathBuf,
    /// The folder that the boot loader reads. It may be on its own file system, which the initramfs
    /// does not see.
    pub boot: PathBuf,
}

impl Places {
    /// The running system below `root`, which is `/` on a node.
    #[must_use]
    pub fn running(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            sysroot: root.join("sysroot"),
            boot: root.join("boot"),
        }
    }

    /// A physical root as seen from outside, such as from the initramfs.
    #[must_use]
    pub fn physical(sysroot: &Path) -> Self {
        Self {
            root: PathBuf::from("/"),
            sysroot: sysroot.to_owned(),
            boot: sysroot.join("boot"),
        }
    }

    /// Careen's own folder on the physical root.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.sysroot.join(names::STATE_DIR)
    }

    /// The kubelet's saved state for one upgrade.
    #[must_use]
    pub fn snapshot(&self, id: &UpgradeId) -> PathBuf {
        self.state().join(format!("snapshot-{id}"))
    }

    /// The digests of one commit's critical files.
    #[must_use]
    pub fn critical_files(&self, commit: &Digest) -> PathBuf {
        self.state().join(format!("manifest-{commit}.json"))
    }

    /// GRUB's own folder; `grub2` on some distributions.
    #[must_use]
    pub fn grub(&self) -> PathBuf {
        let fedora = self.boot.join("grub2");
        if fedora.is_dir() {
            fedora
        } else {
            self.boot.join("grub")
        }
    }

    /// GRUB's environment block.
    #[must_use]
    pub fn grubenv(&self) -> PathBuf {
        self.grub().join("grubenv")
    }

    /// A deployment's kernel and initramfs for the boot loader. Deployments with the same ones
    /// share the folder.
    #[must_use]
    pub fn kernel(&self, deployment: &upgrade::Deployment) -> PathBuf {
        let (stateroot, checksum) = (&deployment.stateroot, &deployment.bootcsum);
        self.boot.join(format!("ostree/{stateroot}-{checksum}"))
    }

    /// The folder of one deployment.
    #[must_use]
    pub fn deployment(&self, deployment: &upgrade::Deployment) -> PathBuf {
        self.sysroot
            .join("ostree/deploy")
            .join(&deployment.stateroot)
            .join("deploy")
            .join(format!("{}.{}", deployment.digest, deployment.serial))
    }
}
