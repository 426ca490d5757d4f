//! Where things are. A test has other folders than a node.

use std::path::{Path, PathBuf};

use host::Places;
use life::ClaimId;
use upgrade::names;

use crate::error::Result;

/// The folders that all other paths start from.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The folders of the node.
    pub places: Places,
}

impl Paths {
    /// The running system below `root`, which is `/` on a node.
    #[must_use]
    pub fn running(root: &Path) -> Self {
        Self {
            places: Places::running(root),
        }
    }

    /// An absolute path of the running system.
    #[must_use]
    pub fn below(&self, path: &str) -> PathBuf {
        below(&self.places.root, path)
    }

    /// The folder of the record, the ledgers and the marks. It is on the physical root, outside of
    /// /etc and /var, so that no cleaning and no image touches it.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.places.state().join(names::HOST_DIR)
    }

    /// Exists once the bootstrap data of this claim have begun to run.
    #[must_use]
    pub fn mark(&self, claim: &ClaimId) -> PathBuf {
        self.state().join(format!("joined-{claim}"))
    }

    /// The ledger of this claim.
    #[must_use]
    pub fn ledger(&self, claim: &ClaimId) -> PathBuf {
        self.state().join(format!("ledger-{claim}"))
    }

    /// The bootstrap data, from their arrival until they have run.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.run("host-data")
    }

    /// A script of the bootstrap data.
    #[must_use]
    pub fn script(&self, claim: &ClaimId, name: &str) -> PathBuf {
        self.run(&format!("host-{claim}-{name}.sh"))
    }

    /// How the join of this claim ended in this boot.
    #[must_use]
    pub fn joined(&self, claim: &ClaimId) -> PathBuf {
        self.run(&format!("host-join-{claim}.json"))
    }

    /// That a cleaning for this claim has ended in this boot.
    #[must_use]
    pub fn cleaned(&self, claim: &ClaimId) -> PathBuf {
        self.run(&format!("host-clean-{claim}.json"))
    }

    /// What careen-agent is asked for before the host has joined.
    #[must_use]
    pub fn request(&self) -> PathBuf {
        self.run(names::HOST_REQUEST)
    }

    /// Since when the host reaches its management cluster in this boot. It is gone while it does not.
    #[must_use]
    pub fn reached(&self) -> PathBuf {
        self.run(names::HOST_REACHED)
    }

    /// A person's order to clean a quarantined host.
    #[must_use]
    pub fn word(&self) -> PathBuf {
        self.run("host-clean-asked")
    }

    /// The file that says that kubeadm has joined the host (Cluster API, contract of bootstrap
    /// providers).
    #[must_use]
    pub fn sentinel(&self) -> PathBuf {
        self.below("/run/cluster-api/bootstrap-success.complete")
    }

    /// The kubelet's credential.
    #[must_use]
    pub fn kubelet_conf(&self) -> PathBuf {
        self.below(names::KUBELET_CONF)
    }

    /// The /etc of the running system and of each other deployment. Another deployment can boot:
    /// by hand, or after a fall back.
    ///
    /// # Errors
    /// The deployments cannot be listed.
    pub fn etcs(&self) -> Result<Vec<PathBuf>> {
        let mut all = vec![self.below("/etc")];
        let booted = host::boot::booted(&self.places.sysroot, &self.places.root).ok();
        let booted = booted.map(|(_, folder)| folder);
        for (_, folder) in host::boot::linked(&self.places.sysroot)? {
            if Some(&folder) != booted.as_ref() && folder.join("etc").is_dir() {
                all.push(folder.join("etc"));
            }
        }
        Ok(all)
    }

    fn run(&self, name: &str) -> PathBuf {
        self.below(names::RUN_DIR).join(name)
    }
}

/// An absolute path below a root.
#[must_use]
pub fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}
