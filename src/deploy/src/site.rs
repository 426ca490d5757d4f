//! The context of one run: the sysroot, its paths, the progress lines, the way to stop it.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use host::Places;
use ostree_ext::ostree::{self, Sysroot};
use ostree_ext::{gio, glib};
use upgrade::Reason;
use upgrade::id::Digest;
use upgrade::image::Deployment;

use crate::deploy::origin;
use crate::report::Report;

/// The inputs of every verb.
pub struct Site {
    /// libostree's view, loaded.
    pub sysroot: Sysroot,
    /// The path of the sysroot.
    pub path: PathBuf,
    /// The verb, for messages.
    pub verb: &'static str,
    /// How long to wait for the lock, in seconds.
    pub lock_seconds: u64,
    /// Where progress goes.
    pub report: Rc<Report>,
    /// Cancelled when the process is asked to end, and only during verbs that allow it.
    pub stop: gio::Cancellable,
}

impl Site {
    /// Opens the sysroot.
    ///
    /// # Errors
    /// libostree cannot load it.
    pub fn open(
        path: &Path,
        verb: &'static str,
        lock_seconds: u64,
        private_mounts: bool,
    ) -> Result<Self, Reason> {
        let sysroot = Sysroot::new(Some(&gio::File::for_path(path)));
        if private_mounts {
            sysroot.set_mount_namespace_in_use();
        }
        let (report, stop) = (Rc::default(), gio::Cancellable::new());
        let site = Self {
            sysroot,
            path: path.to_owned(),
            verb,
            lock_seconds,
            report,
            stop,
        };
        site.sysroot
            .load(site.never())
            .map_err(|error| site.failed(&error))?;
        Ok(site)
    }

    /// For calls that must not stop half way.
    pub const fn never(&self) -> Option<&gio::Cancellable> {
        None
    }

    /// The reason for an error without a more specific reason.
    pub fn failed(&self, error: &glib::Error) -> Reason {
        if error.matches(gio::IOErrorEnum::Cancelled) {
            self.stopped()
        } else {
            self.broken(error.message())
        }
    }

    /// The reason for an error outside libostree.
    pub fn broken(&self, detail: impl ToString) -> Reason {
        Reason::DeployFailed {
            verb: self.verb.to_owned(),
            detail: detail.to_string(),
        }
    }

    /// The reason for a run that was asked to end.
    pub fn stopped(&self) -> Reason {
        Reason::DeployDied {
            verb: self.verb.to_owned(),
            detail: "stopped by a signal".to_owned(),
        }
    }

    /// The deployments on disk in menu order, the default first. A staged deployment is not
    /// included: it would become the default at shutdown, on the way into the trial. Writing the
    /// menu without it drops it.
    pub fn deployments(&self) -> Vec<ostree::Deployment> {
        let all = self.sysroot.deployments().into_iter();
        all.filter(|deployment| !deployment.is_staged()).collect()
    }

    /// The running deployment. In a sysroot that is not running, the default one.
    pub fn current(&self) -> Option<ostree::Deployment> {
        self.sysroot
            .booted_deployment()
            .or_else(|| self.deployments().into_iter().next())
    }

    /// Deployments of a commit in the current stateroot, in menu order.
    pub fn deployments_of(&self, commit: &Digest) -> Vec<ostree::Deployment> {
        let stateroot = self.current().map(|current| current.osname());
        let wanted = |deployment: &ostree::Deployment| {
            deployment.csum() == commit.as_str() && Some(deployment.osname()) == stateroot
        };
        self.deployments().into_iter().filter(wanted).collect()
    }

    /// A deployment's root folder.
    pub fn folder(&self, deployment: &ostree::Deployment) -> PathBuf {
        self.path
            .join(self.sysroot.deployment_dirpath(deployment).as_str())
    }

    /// Removes the notes about a commit.
    ///
    /// # Errors
    /// They may still be there.
    pub fn forget(&self, commit: &Digest) -> Result<(), Reason> {
        let places = Places::physical(&self.path);
        host::durable::remove(&places.critical_files(commit))
            .and_then(|()| host::etc::forget(&places, commit))
            .and_then(|()| host::verdict::forget(&places, commit))
            .map_err(|error| self.broken(error))
    }

    /// The folder that holds kernels.
    pub fn boot(&self) -> PathBuf {
        self.path.join("boot")
    }

    /// The facts about a deployment for the crate `upgrade`.
    ///
    /// # Errors
    /// A checksum or serial that libostree could not have made.
    pub fn facts(&self, deployment: &ostree::Deployment) -> Result<Deployment, Reason> {
        let digest = deployment
            .csum()
            .parse()
            .map_err(|_| self.broken("malformed commit of a deployment"))?;
        let serial = deployment
            .deployserial()
            .try_into()
            .map_err(|_| self.broken("negative serial"))?;
        Ok(Deployment {
            digest,
            serial,
            stateroot: deployment.osname().to_string(),
            bootcsum: deployment.bootcsum().to_string(),
            pinned: deployment.is_pinned(),
            kept: origin::is_kept(deployment),
        })
    }
}

/// Whether both are the same folder on disk.
pub fn same(a: &ostree::Deployment, b: &ostree::Deployment) -> bool {
    a.equal(b)
}
