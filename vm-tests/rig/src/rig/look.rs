//! Checks that a scenario makes afterwards. Each error message says what was found instead.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use upgrade::{Record, names};

use super::story::UPGRADE;
use super::{BOOT, Rig};

/// Waits for /boot. The test channel comes up early in a boot, before /boot is mounted.
pub const BOOT_IS_THERE: &str = "until mountpoint -q /boot; do sleep 0.2; done";

/// Lists what a finished upgrade must not leave: our refs, a trial entry, a one-shot. One line
/// each.
const LEFTOVERS: &str = r"
find /sysroot/ostree/repo/refs/heads/careen -type f 2>/dev/null
grep -l careen.trial /boot/loader/entries/*
grep -a -E '^(next_entry=.|careen)' /boot/grub/grubenv
:";

impl Rig {
    /// OSTree's list of deployments, the default first, through a filter. It waits for /boot as
    /// long as a boot may take. It skips signatures, because gpg takes ten seconds on an emulated
    /// processor.
    async fn status(&mut self, filter: &str) -> Result<String> {
        let list = format!(
            "{BOOT_IS_THERE}; set -o pipefail; ostree admin status --skip-signatures | {filter}"
        );
        self.guest.run_within(&list, BOOT).await
    }

    /// The commit that the guest runs, as OSTree sees it.
    ///
    /// # Errors
    ///
    /// Fails when the guest does not answer.
    pub async fn booted(&mut self) -> Result<String> {
        self.status("awk '$1 == \"*\" { print $3 }' | cut -d. -f1")
            .await
    }

    /// The commit that boots by default.
    ///
    /// # Errors
    ///
    /// Fails when the guest does not answer.
    pub async fn default_commit(&mut self) -> Result<String> {
        self.status("grep -oE '[0-9a-f]{64}\\.[0-9]+' | head -n 1 | cut -d. -f1")
            .await
    }

    /// The number of deployments on the disk.
    ///
    /// # Errors
    ///
    /// Fails when the guest does not answer.
    pub async fn deployments(&mut self) -> Result<usize> {
        let count = self.status("grep -cE '[0-9a-f]{64}\\.[0-9]+'").await?;
        Ok(count.parse()?)
    }

    /// The record, as careen-agent reads it.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be read.
    pub async fn record(&mut self) -> Result<Record> {
        let print = "/usr/libexec/careen/careen-agent record";
        let text = self.guest.run(print).await?;
        serde_json::from_str(&text).with_context(|| format!("the record is {text:?}"))
    }

    /// Checks that an upgrade left nothing that the next one would find. There are at most two
    /// deployments with one entry each, no trial entry, none of our refs, and nothing in GRUB's
    /// environment.
    ///
    /// # Errors
    ///
    /// Fails when any of this is left.
    pub async fn expect_clean(&mut self) -> Result<()> {
        let look = format!("{BOOT_IS_THERE}\n{LEFTOVERS}");
        let left = self.guest.run_within(&look, BOOT).await?;
        ensure!(left.is_empty(), "this is left of the upgrade: {left}");
        let deployments = self.deployments().await?;
        ensure!(deployments <= 2, "{deployments} deployments are left");
        let entries = self.guest.run("ls /boot/loader/entries | wc -l").await?;
        let entries: usize = entries.parse()?;
        ensure!(
            entries == deployments,
            "{entries} entries for {deployments} deployments"
        );
        Ok(())
    }

    /// The id of the running boot.
    ///
    /// # Errors
    ///
    /// Fails when the guest does not answer.
    pub async fn boot_id(&mut self) -> Result<String> {
        self.guest.run("cat /proc/sys/kernel/random/boot_id").await
    }

    /// Checks that no one-shot boot is armed.
    ///
    /// # Errors
    ///
    /// Fails when one is.
    pub async fn expect_disarmed(&mut self) -> Result<()> {
        let look = format!("{BOOT_IS_THERE}; grep -sa ^next_entry= /boot/grub/grubenv || :");
        let armed = self.guest.run_within(&look, BOOT).await?;
        ensure!(
            matches!(armed.as_str(), "" | "next_entry="),
            "grubenv still says {armed:?}"
        );
        Ok(())
    }

    /// Checks that the guest runs this commit and that it is the default.
    ///
    /// # Errors
    ///
    /// Fails when either is another commit.
    pub async fn expect_runs(&mut self, commit: &str) -> Result<()> {
        let (booted, default) = (self.booted().await?, self.default_commit().await?);
        ensure!(booted == commit, "booted is {booted}, not {commit}");
        ensure!(default == commit, "the default is {default}, not {commit}");
        Ok(())
    }

    /// Checks that the Node is not cordoned.
    ///
    /// # Errors
    ///
    /// Fails when it is cordoned.
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

    /// Runs a script in the guest that ends when it finds what it looks for. A check inside the
    /// guest sees what no watch on the Node shows.
    ///
    /// # Errors
    ///
    /// Fails when the script does not end within the time of an upgrade.
    pub async fn wait_guest(&mut self, script: &str) -> Result<()> {
        let output = self.guest.try_run(script, UPGRADE).await?;
        ensure!(
            output.code == 0,
            "{script:?} ended with {}: {}",
            output.code,
            output.text
        );
        Ok(())
    }

    /// Waits until the one-shot is written. From then on every reboot is the trial.
    ///
    /// # Errors
    ///
    /// Fails when it is not written within the time of an upgrade.
    pub async fn wait_armed(&mut self) -> Result<()> {
        let script = "until grep -qa '^next_entry=.' /boot/grub/grubenv; do sleep 0.1; done";
        self.wait_guest(script).await?;
        self.progress.step("armed");
        Ok(())
    }

    /// Waits until the record contains this piece of JSON, runs `then` at once, and flushes the
    /// record. A rename is visible before it is on the disk.
    ///
    /// # Errors
    ///
    /// Fails when the record does not contain it within the time of an upgrade, or `then` fails.
    pub async fn wait_record(&mut self, piece: &str, then: &str) -> Result<()> {
        let folder = format!("/sysroot/{}", names::STATE_DIR);
        let says = format!("grep -qsF '{piece}' {folder}/record.a {folder}/record.b");
        let script = format!("until {says}; do sleep 0.05; done; {then} && sync {folder}");
        self.wait_guest(&script).await
    }

    /// Waits until the guest has been up for this many seconds.
    ///
    /// # Errors
    ///
    /// Fails when the guest goes down earlier.
    pub async fn wait_uptime(&mut self, seconds: u64) -> Result<()> {
        self.progress
            .step(&format!("waiting until {seconds} s after boot"));
        let script =
            format!("until [ $(cut -d. -f1 /proc/uptime) -ge {seconds} ]; do sleep 1; done");
        let limit = BOOT + Duration::from_secs(seconds);
        let output = self.guest.try_run(&script, limit).await?;
        ensure!(output.code == 0, "the guest went down: {}", output.text);
        Ok(())
    }

    /// Removes from the node's repository what the rig put there in advance. The node then lacks
    /// all new objects of an image, as a real node does.
    ///
    /// # Errors
    ///
    /// Fails when ostree fails.
    pub async fn forget_base(&mut self) -> Result<()> {
        // Runs in its own mount namespace, where /sysroot is writable.
        let forget = "unshare -m sh -c 'mount -o remount,bind,rw /sysroot && ostree refs --delete rig/ready && ostree prune --refs-only'";
        self.wait_guest(forget).await
    }

    /// Waits until the remote has sent this many bytes.
    ///
    /// # Errors
    ///
    /// Fails when it has not sent them within the time of an upgrade.
    pub async fn wait_served(&self, bytes: u64) -> Result<()> {
        let look = async {
            while self.repo.served() < bytes {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        Ok(tokio::time::timeout(UPGRADE, look).await?)
    }
}
