//! Steps that are held open, and a person who reboots the node in them: some last for a few milliseconds only.

use anyhow::{Context, Result, ensure};
use upgrade::{Record, names};

use super::{BOOT, Rig, UPGRADE};

/// A step that takes logind's lock waits for it from here on, and no reboot that logind is asked for comes, for as long as the agent waits for an
/// answer. Nor does systemd end a logind that is silent for minutes.
pub const LOGIND_HANGS: &str = "systemctl service-watchdogs no && systemctl kill --signal=STOP --kill-whom=main systemd-logind";
/// It answers again, and reboots at once where it was asked to: nothing can be told to systemd behind this.
pub const LOGIND_GOES_ON: &str = "systemctl service-watchdogs yes && systemctl kill --signal=CONT --kill-whom=main systemd-logind";

/// Hooks that wait until something was [`killed_in`] their phase, and a check that passes only then: the phases in which they run last as long. The
/// check does not wait, for the trial begins with what the first round of checks has found.
pub const HELD_BY_PROGRAMS: &str = r#"
program() {
  mkdir -p /etc/careen/$1 && printf '#!/bin/sh\n%s\n' "$2" >/etc/careen/$1/50-rig && chmod 755 /etc/careen/$1/50-rig
}
killed_in() { echo "[ -e /run/careen-rig/killed-in-$1 ]"; }
program pre.d "until $(killed_in Deployed); do sleep 0.1; done" &&
  program required.d "$(killed_in Trial)" &&
  program post.d "until $(killed_in Blessed); do sleep 0.1; done""#;

/// Says in the guest that something was killed in this phase, of this boot.
#[must_use]
pub fn killed_in(phase: &str) -> String {
    format!("touch /run/careen-rig/killed-in-{phase}")
}

/// /etc goes with the new system, and so does the hook.
const POST_HOOK_WAITS: &str = r"mkdir -p /etc/careen/post.d && printf '#!/bin/sh\nuntil [ -e /run/careen-rig/go ]; do sleep 0.1; done\n' >/etc/careen/post.d/50-rig && chmod 755 /etc/careen/post.d/50-rig";
const POST_HOOK_GOES_ON: &str = "mkdir -p /run/careen-rig && touch /run/careen-rig/go";

/// Past our inhibitor, as a person does who is in a hurry: without logind, which since systemd 257 refuses root too while a lock is held. The agent
/// is stopped first: of a shutdown's many stops logind's may come before, and a step that no longer waits for its lock would lead to the next phase.
const REBOOT: &str = "systemctl --quiet stop careen-agent && systemctl --quiet --no-block --job-mode=replace-irreversibly start reboot.target";

impl Rig {
    /// logind hangs in this boot, as soon as it has come up.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn hang_logind(&mut self) -> Result<()> {
        let is_up = "until systemctl --quiet is-active systemd-logind; do sleep 0.1; done";
        let hang = format!("{is_up}; {LOGIND_HANGS}");
        self.guest.run_within(&hang, BOOT).await?;
        self.progress.step("logind hangs");
        Ok(())
    }

    /// A hook of the operator's holds the upgrade before the node is given back, in every boot anew.
    ///
    /// # Errors
    /// When the guest does not answer.
    pub async fn hold_post_hook(&mut self) -> Result<()> {
        self.guest.run(POST_HOOK_WAITS).await.map(drop)
    }

    /// That hook goes on, in this boot.
    ///
    /// # Errors
    /// When the guest does not answer.
    pub async fn let_post_hook_go(&mut self) -> Result<()> {
        self.guest.run(POST_HOOK_GOES_ON).await.map(drop)
    }

    /// A person reboots the node as soon as the record says this piece of its JSON, which it must in this phase. Gives the boot that follows.
    ///
    /// # Errors
    /// When the record does not say it within the time of an upgrade, is in another phase by then, or no boot follows.
    pub async fn reboot_by_hand(&mut self, piece: &str, phase: &str) -> Result<String> {
        let boot = self.boot_id().await?;
        let folder = format!("/sysroot/{}", names::STATE_DIR);
        let says = format!("grep -qsF '{piece}' {folder}/record.a {folder}/record.b");
        let script = format!(
            "until {says}; do sleep 0.05; done; /usr/libexec/careen/careen-agent record && {REBOOT}"
        );
        let text = self.guest.run_within(&script, UPGRADE).await?;
        let record: Record = serde_json::from_str(&text)
            .with_context(|| format!("rebooted in {phase}, the record was {text:?}"))?;
        let found = record.upgrade.as_ref().map_or("", |up| up.phase.name());
        ensure!(
            found == phase,
            "the node was to be rebooted in {phase}, and by then was in {found:?}"
        );
        self.progress.step(&format!("a person reboots in {phase}"));
        self.wait_boot(Some(&boot)).await
    }
}
