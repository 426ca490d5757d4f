//! Holds steps open while a person reboots the node in them. Some steps last only a few
//! milliseconds.

use anyhow::{Context, Result, ensure};
use upgrade::{Record, names};

use super::story::UPGRADE;
use super::{BOOT, Rig};

/// Hangs logind. From then on a step that takes logind's lock waits for it. logind performs no
/// requested reboot while the agent waits for an answer. The script also stops systemd from killing
/// a logind that is silent for minutes.
pub const LOGIND_HANGS: &str = "systemctl service-watchdogs no && systemctl kill --signal=STOP --kill-whom=main systemd-logind";
/// Lets logind answer again. It reboots at once if a reboot was requested, so nothing can be sent
/// to systemd after this.
pub const LOGIND_GOES_ON: &str = "systemctl service-watchdogs yes && systemctl kill --signal=CONT --kill-whom=main systemd-logind";

/// Hooks that wait until something was [`killed_in`] their phase, and a check that passes only
/// then. The phases in which they run last as long. The check does not wait, because the trial
/// begins with the result of the first round of checks. It passes on the old system, which
/// rehearses it.
pub const HELD_BY_PROGRAMS: &str = r#"
program() {
  mkdir -p /etc/careen/$1 && printf '#!/bin/sh\n%s\n' "$2" >/etc/careen/$1/50-rig && chmod 755 /etc/careen/$1/50-rig
}
killed_in() { echo "[ -e /run/careen-rig/killed-in-$1 ]"; }
program pre.d "until $(killed_in Deployed); do sleep 0.1; done" &&
  program required.d "! grep -qw careen.trial=1 /proc/cmdline || $(killed_in Trial)" &&
  program post.d "until $(killed_in Blessed); do sleep 0.1; done""#;

/// A script that records in the guest that something was killed in this phase, in this boot.
#[must_use]
pub fn killed_in(phase: &str) -> String {
    format!("touch /run/careen-rig/killed-in-{phase}")
}

/// The hook is in /etc, so it goes along with the new system.
const POST_HOOK_WAITS: &str = r"mkdir -p /etc/careen/post.d && printf '#!/bin/sh\nuntil [ -e /run/careen-rig/go ]; do sleep 0.1; done\n' >/etc/careen/post.d/50-rig && chmod 755 /etc/careen/post.d/50-rig";
const POST_HOOK_GOES_ON: &str = "mkdir -p /run/careen-rig && touch /run/careen-rig/go";

/// Reboots past our inhibitor, as a person in a hurry does. It does not use logind, which since
/// systemd 257 also refuses root while a lock is held. It stops the agent first: a shutdown may
/// stop logind earlier, and a step that no longer waits for its lock would continue to the next
/// phase.
const REBOOT: &str = "systemctl --quiet stop careen-agent && systemctl --quiet --no-block --job-mode=replace-irreversibly start reboot.target";

impl Rig {
    /// Hangs logind in this boot as soon as logind is up.
    ///
    /// # Errors
    ///
    /// Fails when logind does not come up.
    pub async fn hang_logind(&mut self) -> Result<()> {
        let is_up = "until systemctl --quiet is-active systemd-logind; do sleep 0.1; done";
        let hang = format!("{is_up}; {LOGIND_HANGS}");
        self.guest.run_within(&hang, BOOT).await?;
        self.progress.step("logind hangs");
        Ok(())
    }

    /// Installs an operator's hook that holds the upgrade before the node is made schedulable
    /// again, in every boot.
    ///
    /// # Errors
    ///
    /// Fails when the guest does not answer.
    pub async fn hold_post_hook(&mut self) -> Result<()> {
        self.guest.run(POST_HOOK_WAITS).await.map(drop)
    }

    /// Lets that hook continue in this boot.
    ///
    /// # Errors
    ///
    /// Fails when the guest does not answer.
    pub async fn let_post_hook_go(&mut self) -> Result<()> {
        self.guest.run(POST_HOOK_GOES_ON).await.map(drop)
    }

    /// Reboots the node by hand as soon as the record contains this piece of JSON. The record must
    /// be in `phase` by then. Returns the boot that follows.
    ///
    /// # Errors
    ///
    /// Fails when the record does not contain it within the time of an upgrade, when the record is
    /// in another phase by then, or when no boot follows.
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
            "the reboot was meant for {phase}, and by then the node was in {found:?}"
        );
        self.progress.step(&format!("a person reboots in {phase}"));
        self.wait_boot(Some(&boot)).await
    }
}
