//! The two possible ends of an upgrade, checked in the cluster, the guest and the disk.

use std::time::Duration;

use anyhow::{Result, ensure};
use upgrade::report::Answer;

use super::Rig;
use crate::images::{self, Commit};
use crate::node::View;

/// The time limit of a whole upgrade, long enough for a busy machine.
pub const UPGRADE: Duration = Duration::from_secs(1800);

/// The time limit from the answer until the kubelet has reported its boot to the API server.
const SETTLE: Duration = Duration::from_secs(300);

/// Lists the kubelet's saved state. A failed upgrade leaves it only if it could not be restored.
const KEPT: &str = "ls -d /sysroot/ostree/careen/snapshot-* 2>/dev/null || :";

/// The state of a node before an upgrade was requested.
#[derive(Debug, Clone)]
pub struct Before {
    /// The commit that the node ran.
    pub commit: String,
    /// The boot that the node ran in.
    pub boot: String,
    /// The version of its kubelet.
    pub kubelet: String,
}

impl Rig {
    /// Records the node's current state for later comparison.
    ///
    /// # Errors
    ///
    /// Fails when the guest or the cluster does not answer.
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

    /// Builds an image if necessary. The scenario's time limits do not include the build.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be built.
    pub fn image(&self, name: &str) -> Result<Commit> {
        images::ensure_commit(name)
    }

    /// Waits for `Upgraded` and verifies it: booted and default commit, version, boot id,
    /// schedulable, disarmed.
    ///
    /// # Errors
    ///
    /// Fails when the upgrade fails or any of these checks fails.
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

    /// Waits for `Failed` with one of these codes and checks that the old system serves as before.
    ///
    /// # Errors
    ///
    /// Fails when the upgrade succeeds, fails for another reason, or the old system does not serve.
    pub async fn expect_fallback(&mut self, before: &Before, codes: &[&str]) -> Result<View> {
        let view = self.expect_failed(codes, UPGRADE).await?;
        let boot = self.boot_id().await?;
        ensure!(boot != before.boot, "there was no trial boot at all");
        self.expect_old_system(before).await?;
        Ok(view)
    }

    /// Waits for `Failed` with one of these codes and checks that the Node shows the reason.
    ///
    /// # Errors
    ///
    /// Fails when the answer or the code is a different one.
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

    /// Checks that the old system runs, is the default, is Ready and accepts pods, and that nothing
    /// of the upgrade is still armed.
    ///
    /// # Errors
    ///
    /// Fails when any of these checks fails.
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

    /// Checks the node after a failed upgrade: no saved state is waiting to be restored. The node
    /// accepts the next request and only then rejects its image, which does not exist.
    ///
    /// # Errors
    ///
    /// Fails when saved state is left, or the node rejects the request for another reason.
    pub async fn expect_nothing_owed(&mut self) -> Result<()> {
        let kept = self.guest.run(KEPT).await?;
        ensure!(kept.is_empty(), "this is still to be put back: {kept}");
        self.ask_raw("ostree:careen:no-such-ref").await?;
        self.expect_failed(&["NoSuchRef"], SETTLE).await.map(drop)
    }

    /// Replaces the node's policy. The line with the remotes remains.
    ///
    /// # Errors
    ///
    /// Fails when the guest does not answer.
    pub async fn policy(&mut self, toml: &str) -> Result<()> {
        let file = "/etc/careen/policy.toml";
        let script = format!("printf '%s\\n' 'remotes = [\"careen\"]' '{toml}' > {file}");
        self.guest.run(&script).await.map(drop)
    }
}
