//! `careen-agent doctor --fix`: gives a control plane one /etc/kubernetes for all its deployments.
//!
//! The order makes each moment safe for a power cut. The copy is complete before any unit names it,
//! the units are complete before the mount, and the deployment's own folder is emptied last. Until
//! then an error puts everything back.

mod outcome;
mod services;
mod units;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use host::kubernetes::{self, Kept};
use host::{Places, control_plane, durable};
use upgrade::{Deployment, names};

pub use outcome::{Shared, told};
pub use services::{Services, Systemd};

/// A node, and what the fix needs of it.
#[derive(Debug)]
pub struct Share<S> {
    /// Its folders. The physical root must be writable.
    pub places: Places,
    /// The deployment that runs.
    pub booted: Deployment,
    /// /proc.
    pub proc: PathBuf,
    /// Its services.
    pub services: S,
}

impl<S: Services> Share<S> {
    /// Shares the folder, as far as that is not done. A second call changes nothing.
    ///
    /// # Errors
    /// The fix could not be made. Then everything is as before, or the error names what is not.
    pub async fn share(&self) -> Result<Shared> {
        if !control_plane::is_here(&self.places) {
            return Ok(Shared::Worker);
        }
        match kubernetes::kept(&self.places, &self.booted)? {
            Kept::Foreign => bail!(
                "{} is mounted from another place than {}. Move its content there and unmount it.",
                names::KUBERNETES,
                names::SHARED_KUBERNETES
            ),
            Kept::Shared { .. } => {}
            Kept::Own => self.move_there().await?,
        }
        self.empty_the_own_folder()
    }

    async fn move_there(&self) -> Result<()> {
        self.remove_an_unfinished_fix()?;
        let ran = match self.services.stop_kubelet().await {
            Ok(ran) => ran,
            Err(error) => {
                // It may be stopping.
                let _ = self.services.start_kubelet().await;
                return Err(error.context("the kubelet does not stop, and everything is as before"));
            }
        };
        let Err(error) = self.copy_and_mount(ran).await else {
            return Ok(());
        };
        match self.undo(ran).await {
            Ok(()) => Err(error.context("the fix failed, and everything is as before")),
            Err(left) => bail!(
                "the fix failed: {error:#}. Undoing it failed too: {left:#}. Put {} back as {} \
                 has it, and start the kubelet.",
                names::KUBERNETES,
                kubernetes::own(&self.places, &self.booted).display()
            ),
        }
    }

    /// A copy that no unit names was never in use. With its units it may have been, and then it can
    /// be newer than the folder that is there. If the folder that is there is emptied, the copy is
    /// the only one.
    fn remove_an_unfinished_fix(&self) -> Result<()> {
        let root = &self.places.root;
        let shared = kubernetes::shared(root);
        let is_only_one = || control_plane::sign_in(&kubernetes::folder(root)).is_none();
        if shared.exists() && (units::are_there(root) || is_only_one()) {
            bail!(
                "{} exists and is not mounted, and the kubelet may have used it. Compare it with \
                 {}, remove the older one or run `systemctl start {}`, and try again.",
                names::SHARED_KUBERNETES,
                names::KUBERNETES,
                names::KUBERNETES_MOUNT
            );
        }
        self.remove_the_copies()
    }

    fn remove_the_copies(&self) -> Result<()> {
        let shared = kubernetes::shared(&self.places.root);
        durable::remove_folder(&self.unfinished())?;
        durable::remove_folder(&shared)?;
        Ok(())
    }

    fn unfinished(&self) -> PathBuf {
        kubernetes::shared(&self.places.root).with_extension("new")
    }

    async fn copy_and_mount(&self, ran: bool) -> Result<()> {
        let root = &self.places.root;
        let (from, new) = (kubernetes::folder(root), self.unfinished());
        durable::make_folder(new.parent().context("the copy has a folder")?)?;
        kubernetes::copy(&from, &new)?;
        if !kubernetes::is_same(&from, &new)? {
            bail!("{} changed while it was copied. Try again.", from.display());
        }
        durable::rename(&new, &kubernetes::shared(root))?;
        units::write(root)?;
        self.services.reload().await?;
        self.services.mount().await?;
        match kubernetes::kept(&self.places, &self.booted)? {
            Kept::Shared { .. } => {}
            Kept::Own | Kept::Foreign => bail!("{} is not mounted", names::KUBERNETES),
        }
        if ran {
            self.services.start_kubelet().await?;
        }
        Ok(())
    }

    async fn undo(&self, ran: bool) -> Result<()> {
        self.services.stop_kubelet().await?;
        if kubernetes::kept(&self.places, &self.booted)? != Kept::Own {
            self.services.unmount().await?;
        }
        if units::is_one_there(&self.places.root) {
            units::remove(&self.places.root)?;
            self.services.reload().await?;
        }
        self.remove_the_copies()?;
        if ran {
            self.services.start_kubelet().await?;
        }
        Ok(())
    }

    /// What is left in the deployment's own folder would be copied to each new deployment. A system
    /// that starts without the mount would run those old manifests.
    fn empty_the_own_folder(&self) -> Result<Shared> {
        let users = kubernetes::users(&self.proc, &self.booted);
        if !users.is_empty() {
            return Ok(Shared::InUse(users));
        }
        let own = kubernetes::own(&self.places, &self.booted);
        if own.exists() {
            kubernetes::clear(&own)?;
        }
        Ok(Shared::Yes)
    }
}

#[cfg(test)]
mod tests;
