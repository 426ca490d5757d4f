//! The kubelet and containerd are killed while the agent stands still: what it is in the middle of lasts until both are back.

use anyhow::{Context, Result, ensure};
use upgrade::{Record, names};

use super::{Rig, UPGRADE};

/// Stopped, it records nothing. Nor does systemd end an agent that is silent for minutes.
const STAND_STILL: &str =
    "systemctl service-watchdogs no && systemctl kill --signal=STOP --kill-whom=main careen-agent";
const GO_ON: &str = "systemctl kill --signal=CONT --kill-whom=main careen-agent";

/// Kills these at once, as soon as all run (early in a boot one may not be there yet), and waits until systemd has them back. Each one's number is
/// asked for once: the next time it may be 0, which for `kill` means whoever asks.
const DIE: &str = r#"
pid() { systemctl show --value -p MainPID $1; }
is_new() {
  now=$(pid $1)
  [ "$now" -gt 0 ] && case " $old " in *" $now "*) false ;; esac
}
die() {
  old=
  for it; do
    until now=$(pid $it) && [ "$now" -gt 0 ]; do sleep 0.2; done
    old="$old $now"
  done
  kill -KILL $old 2>/dev/null
  for it; do until is_new $it; do sleep 0.2; done; done
}"#;

/// Who dies, one after the other.
pub const EACH_AND_BOTH: &[&str] = &["kubelet", "containerd", "kubelet containerd"];

/// A step in which somebody is killed.
#[derive(Debug, Clone, Copy)]
pub struct In<'a> {
    /// What of its JSON the record says by then.
    pub says: &'a str,
    /// The phase, as the record spells it.
    pub phase: &'a str,
}

impl Rig {
    /// Kills these as soon as the record says so and there is an agent; when systemd has them back, runs `then` and lets the agent go on. The
    /// record that it goes on with proves the phase.
    ///
    /// # Errors
    /// When the record does not say it within the time of an upgrade, is in another phase by then, or somebody does not come back.
    pub async fn kill_in(&mut self, step: In<'_>, who: &[&str], then: &str) -> Result<()> {
        let folder = format!("/sysroot/{}", names::STATE_DIR);
        let says = format!(
            "grep -qsF '{}' {folder}/record.a {folder}/record.b",
            step.says
        );
        let kills: String = who.iter().map(|those| format!("die {those}\n")).collect();
        let script = format!(
            "{DIE}
until {says} && systemctl --quiet is-active careen-agent; do sleep 0.05; done
{STAND_STILL} || exit
{kills}/usr/libexec/careen/careen-agent record && {then} && {GO_ON}"
        );
        let text = self.guest.run_within(&script, UPGRADE).await?;
        let phase = step.phase;
        let record: Record = serde_json::from_str(&text)
            .with_context(|| format!("killed in {phase}, the record is {text:?}"))?;
        let found = record.upgrade.as_ref().map_or("", |up| up.phase.name());
        ensure!(
            found == phase,
            "{who:?} were to be killed in {phase}, and by then it was {found:?}"
        );
        self.progress
            .step(&format!("kill -9 of {} in {phase}", who.join(", ")));
        Ok(())
    }
}
