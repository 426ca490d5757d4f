//! What a scenario looks at after the fact, each with a message that says what was found instead.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use upgrade::{Record, names};

use super::{BOOT, Rig, UPGRADE};

/// The test channel comes up early in a boot, before /boot is mounted.
pub const BOOT_IS_THERE: &str = "until mountpoint -q /boot; do sleep 0.2; done";

/// What an upgrade that has come to its end must not leave: our refs, an entry of a trial, a one-shot. One line for each.
const LEFTOVERS: &str = r"
find /sysroot/ostree/repo/refs/heads/careen -type f 2>/dev/null
grep -l careen.trial /boot/loader/entries/*
grep -a -E '^(next_entry=.|careen)' /boot/grub/grubenv
:";

impl Rig {
    /// What OSTree says of its deployments, the default first, through a filter. It waits for /boot as long as a boot takes. Their
    /// signatures are not what it is asked for: gpg takes ten seconds of an emulated processor.
    async fn status(&mut self, filter: &str) -> Result<String> {
        let list = format!(
            "{BOOT_IS_THERE}; set -o pipefail; ostree admin status --skip-signatures | {filter}"
        );
        self.guest.run_within(&list, BOOT).await
    }

    /// The commit that the guest runs, as OSTree sees it.
    ///
    /// # Errors
    /// When the guest does not answer.
    pub async fn booted(&mut self) -> Result<String> {
        self.status("awk '$1 == \"*\" { print $3 }' | cut -d. -f1")
            .await
    }

    /// The commit that boots when nobody chooses.
    ///
    /// # Errors
    /// When the guest does not answer.
    pub async fn default_commit(&mut self) -> Result<String> {
        self.status("grep -oE '[0-9a-f]{64}\\.[0-9]+' | head -n 1 | cut -d. -f1")
            .await
    }

    /// How many deployments lie on the disk.
    ///
    /// # Errors
    /// When the guest does not answer.
    pub async fn deployments(&mut self) -> Result<usize> {
        let count = self.status("grep -cE '[0-9a-f]{64}\\.[0-9]+'").await?;
        Ok(count.parse()?)
    }

    /// The record, as careen-agent reads it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn record(&mut self) -> Result<Record> {
        let print = "/usr/libexec/careen/careen-agent record";
        let text = self.guest.run(print).await?;
        serde_json::from_str(&text).with_context(|| format!("the record is {text:?}"))
    }

    /// Nothing of an upgrade is left where the next one would find it: at most two deployments with an entry each, no trial among the
    /// entries, none of our refs, and nothing in GRUB's environment.
    ///
    /// # Errors
    /// When anything is.
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
        let look = format!("{BOOT_IS_THERE}; grep -sa ^next_entry= /boot/grub/grubenv || :");
        let armed = self.guest.run_within(&look, BOOT).await?;
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

    /// Waits for a script in the guest that ends when what it looks for is there. Asking from inside sees what no watch shows.
    ///
    /// # Errors
    /// When it does not end within the time of an upgrade.
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

    /// Waits until the one-shot is written: from now on every reboot is the trial.
    ///
    /// # Errors
    /// When it is not within the time of an upgrade.
    pub async fn wait_armed(&mut self) -> Result<()> {
        let script = "until grep -qa '^next_entry=.' /boot/grub/grubenv; do sleep 0.1; done";
        self.wait_guest(script).await?;
        self.progress.step("armed");
        Ok(())
    }

    /// Waits until the record says this piece of its JSON, runs `then` at once, and flushes what was said: a rename is seen before it is on
    /// the disk.
    ///
    /// # Errors
    /// When the record does not say it within the time of an upgrade, or `then` fails.
    pub async fn wait_record(&mut self, piece: &str, then: &str) -> Result<()> {
        let folder = format!("/sysroot/{}", names::STATE_DIR);
        let says = format!("grep -qsF '{piece}' {folder}/record.a {folder}/record.b");
        let script = format!("until {says}; do sleep 0.05; done; {then} && sync {folder}");
        self.wait_guest(&script).await
    }

    /// Waits until the guest has been up for so many seconds.
    ///
    /// # Errors
    /// When it goes down before.
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

    /// Makes the node forget what the rig laid ready in its repository: of an image it then lacks all that is new, as a node does.
    ///
    /// # Errors
    /// When ostree fails.
    pub async fn forget_base(&mut self) -> Result<()> {
        // In a mount namespace of its own, where /sysroot can be written.
        let forget = "unshare -m sh -c 'mount -o remount,bind,rw /sysroot && ostree refs --delete rig/ready && ostree prune --refs-only'";
        self.wait_guest(forget).await
    }

    /// Waits until the remote has sent so many bytes.
    ///
    /// # Errors
    /// When it has not within the time of an upgrade.
    pub async fn wait_served(&self, bytes: u64) -> Result<()> {
        let look = async {
            while self.repo.served() < bytes {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        Ok(tokio::time::timeout(UPGRADE, look).await?)
    }
}
