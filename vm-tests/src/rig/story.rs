//! The two ends that an upgrade may have, looked at from all sides: cluster, guest, disk.

use std::time::Duration;

use anyhow::{Result, ensure};
use upgrade::report::Answer;

use super::Rig;
use crate::images::{self, Commit};
use crate::node::View;

/// A whole upgrade, with room for a busy machine.
pub const UPGRADE: Duration = Duration::from_secs(1800);

/// From the answer until the kubelet has told the API server everything about its boot.
const SETTLE: Duration = Duration::from_secs(300);

/// The kubelet's saved state, which a failed upgrade leaves only where it could not be put back.
const KEPT: &str = "ls -d /sysroot/ostree/careen/snapshot-* 2>/dev/null || :";

/// How a node was before an upgrade was asked for.
#[derive(Debug, Clone)]
pub struct Before {
    /// The commit it ran.
    pub commit: String,
    /// The boot it ran in.
    pub boot: String,
    /// Its kubelet's version.
    pub kubelet: String,
}

impl Rig {
    /// How the node is now, to compare with later.
    ///
    /// # Errors
    /// When the guest or the cluster does not say.
    pub async fn before(&mut self) -> Result<Before> {
        let view = self
            .node
            .wait("the node is Ready", SETTLE, |view| view.ready)
            .await?;
        let (commit, boot) = (self.booted().await?, self.boot_id().await?);
        Ok(Before {
            commit,
            boot,
            kubelet: view.kubelet,
        })
    }

    /// Builds an image if need be, outside of any time limit of the scenario.
    ///
    /// # Errors
    /// When it cannot be built.
    pub fn image(&self, name: &str) -> Result<Commit> {
        images::ensure_commit(name)
    }

    /// Waits for `Upgraded` and believes nothing: booted, default, version, boot id, schedulable, disarmed.
    ///
    /// # Errors
    /// When the upgrade fails or anything of this is not so.
    pub async fn expect_upgraded(&mut self, before: &Before, image: &Commit) -> Result<View> {
        let view = self.wait_answer(Answer::Upgraded, UPGRADE).await?;
        self.progress.step("Upgraded; looking closer");
        self.expect_runs(&image.digest).await?;
        self.expect_disarmed().await?;
        let boot = self.boot_id().await?;
        ensure!(
            boot != before.boot,
            "the node says Upgraded without having rebooted"
        );
        let there = |view: &View| view.ready && view.schedulable && view.boot == boot;
        self.node
            .wait(
                "the node is Ready in this boot and schedulable",
                SETTLE,
                there,
            )
            .await?;
        self.expect_schedulable()?;
        Ok(view)
    }

    /// Waits for `Failed` with this code and looks that the old system serves as before.
    ///
    /// # Errors
    /// When it upgrades, fails for another reason, or the old system does not serve.
    pub async fn expect_fallback(&mut self, before: &Before, codes: &[&str]) -> Result<View> {
        let view = self.expect_failed(codes, UPGRADE).await?;
        let boot = self.boot_id().await?;
        ensure!(boot != before.boot, "there was no trial boot at all");
        self.expect_old_system(before).await?;
        Ok(view)
    }

    /// Waits for `Failed` with one of these codes, and that the reason stands where a person looks.
    ///
    /// # Errors
    /// When the answer or the code is another one.
    pub async fn expect_failed(&mut self, codes: &[&str], limit: Duration) -> Result<View> {
        let view = self.wait_answer(Answer::Failed, limit).await?;
        let code = view
            .status
            .as_ref()
            .and_then(|status| status.code.clone())
            .unwrap_or_default();
        let reason = view.reason.clone().unwrap_or_default();
        self.progress.step(&format!("Failed, {code}: {reason}"));
        ensure!(
            codes.contains(&code.as_str()),
            "the code is {code}, not one of {codes:?}: {reason}"
        );
        ensure!(!reason.is_empty(), "Failed without a reason on the Node");
        Ok(view)
    }

    /// The old system runs, is the default, is Ready and takes pods; nothing of the upgrade is left armed.
    ///
    /// # Errors
    /// When anything of this is not so.
    pub async fn expect_old_system(&mut self, before: &Before) -> Result<()> {
        self.expect_runs(&before.commit).await?;
        self.expect_disarmed().await?;
        let boot = self.boot_id().await?;
        let there = |view: &View| {
            view.ready && view.schedulable && view.boot == boot && view.kubelet == before.kubelet
        };
        self.node
            .wait("the old system is Ready and schedulable", SETTLE, there)
            .await?;
        self.expect_schedulable()
    }

    /// Behind an upgrade that has failed: nothing is kept to be put back, and the next request is taken as far as its image, which is not there.
    ///
    /// # Errors
    /// When something is owed, or the request is refused for anything else.
    pub async fn expect_nothing_owed(&mut self) -> Result<()> {
        let kept = self.guest.run(KEPT).await?;
        ensure!(kept.is_empty(), "this is still to be put back: {kept}");
        self.ask_raw("ostree:careen:no-such-ref").await?;
        self.expect_failed(&["NoSuchRef"], SETTLE).await.map(drop)
    }

    /// Replaces the node's policy. The line with the remotes stays.
    ///
    /// # Errors
    /// When the guest does not answer.
    pub async fn policy(&mut self, toml: &str) -> Result<()> {
        let file = "/etc/careen/policy.toml";
        let script = format!("printf '%s\\n' 'remotes = [\"careen\"]' '{toml}' > {file}");
        self.guest.run(&script).await.map(drop)
    }
}
