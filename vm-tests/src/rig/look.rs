//! What a scenario looks at after the fact, each with a message that says what was found instead.

use anyhow::{Result, ensure};

use super::Rig;

impl Rig {
    /// The commit that the guest runs, as OSTree sees it.
    ///
    /// # Errors
    /// When the guest does not answer.
    pub async fn booted(&mut self) -> Result<String> {
        self.guest
            .run("ostree admin status | awk '$1 == \"*\" { print $3 }' | cut -d. -f1")
            .await
    }

    /// The commit that boots when nobody chooses.
    ///
    /// # Errors
    /// When the guest does not answer.
    pub async fn default_commit(&mut self) -> Result<String> {
        self.guest
            .run("set -o pipefail; ostree admin status | grep -oE '[0-9a-f]{64}\\.[0-9]+' | head -n 1 | cut -d. -f1")
            .await
    }

    /// How many deployments lie on the disk.
    ///
    /// # Errors
    /// When the guest does not answer.
    pub async fn deployments(&mut self) -> Result<usize> {
        let count = self
            .guest
            .run("ostree admin status | grep -cE '[0-9a-f]{64}\\.[0-9]+'")
            .await?;
        Ok(count.parse()?)
    }

    /// The boot that runs.
    ///
    /// # Errors
    /// When the guest does not answer.
    pub async fn boot_id(&mut self) -> Result<String> {
        self.guest.run("cat /proc/sys/kernel/random/boot_id").await
    }

    /// No one-shot boot is armed.
    ///
    /// # Errors
    /// When one is.
    pub async fn expect_disarmed(&mut self) -> Result<()> {
        let armed = self
            .guest
            .run("grep -a ^next_entry= /boot/grub/grubenv || :")
            .await?;
        ensure!(
            matches!(armed.as_str(), "" | "next_entry="),
            "grubenv still says {armed:?}"
        );
        Ok(())
    }

    /// The guest runs this commit, and it is the default.
    ///
    /// # Errors
    /// When either is not so.
    pub async fn expect_runs(&mut self, commit: &str) -> Result<()> {
        let (booted, default) = (self.booted().await?, self.default_commit().await?);
        ensure!(booted == commit, "booted is {booted}, not {commit}");
        ensure!(default == commit, "the default is {default}, not {commit}");
        Ok(())
    }

    /// Nobody has it cordoned.
    ///
    /// # Errors
    /// When somebody has.
    pub fn expect_schedulable(&self) -> Result<()> {
        let view = self.node.now();
        ensure!(
            view.schedulable,
            "the node is cordoned (by {:?})",
            view.cordoned_by
        );
        ensure!(
            view.cordoned_by.is_none(),
            "the agent's mark is still there: {:?}",
            view.cordoned_by
        );
        Ok(())
    }
}
