//! Kills the kubelet and containerd while the agent is stopped. The agent's current step lasts
//! until both run again.

use anyhow::{Context, Result, ensure};
use upgrade::{Record, names};

use super::Rig;
use super::story::UPGRADE;

/// Stops the agent. A stopped agent records nothing. The script also stops systemd from killing an
/// agent that is silent for minutes.
const STAND_STILL: &str =
    "systemctl service-watchdogs no && systemctl kill --signal=STOP --kill-whom=main careen-agent";

/// What becomes of the stopped agent after the kills.
#[derive(Debug, Clone, Copy)]
pub enum After {
    /// The agent goes on.
    AgentGoesOn,
    /// The agent is killed too, and systemd starts the next one.
    AgentDies,
}

impl After {
    const fn script(self) -> &'static str {
        match self {
            Self::AgentGoesOn => "systemctl kill --signal=CONT --kill-whom=main careen-agent",
            Self::AgentDies => "systemctl kill --signal=KILL --kill-whom=main careen-agent",
        }
    }
}

/// Kills these services at once, as soon as all of them run, and waits until systemd has restarted
/// them. Early in a boot one of them may not run yet. The script reads each main PID once: a second
/// read may return 0, and `kill` takes 0 for its own process group.
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

/// The services to kill, one set after the other.
pub const EACH_AND_BOTH: &[&str] = &["kubelet", "containerd", "kubelet containerd"];

/// A step in which services are killed.
#[derive(Debug, Clone, Copy)]
pub struct In<'a> {
    /// A piece of JSON that the record contains at this step.
    pub says: &'a str,
    /// The phase, as the record spells it.
    pub phase: &'a str,
}

impl Rig {
    /// Kills these services as soon as the record contains the step's JSON and the agent runs. When
    /// systemd has restarted them, it runs `then` and lets the agent continue or die. The record at
    /// that moment proves the phase.
    ///
    /// # Errors
    ///
    /// Fails when the record does not contain it within the time of an upgrade, when the record is
    /// in another phase by then, or when a service does not come back.
    pub async fn kill_in(
        &mut self,
        step: In<'_>,
        who: &[&str],
        then: &str,
        after: After,
    ) -> Result<()> {
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
{kills}/usr/libexec/careen/careen-agent record && {then} && {}",
            after.script()
        );
        let text = self.guest.run_within(&script, UPGRADE).await?;
        let phase = step.phase;
        let record: Record = serde_json::from_str(&text)
            .with_context(|| format!("killed in {phase}, the record is {text:?}"))?;
        let found = record.upgrade.as_ref().map_or("", |up| up.phase.name());
        ensure!(
            found == phase,
            "killed {who:?} in {found:?}, not in {phase}"
        );
        self.progress.step(&format!(
            "kill -9 of {} in {phase}, {after:?}",
            who.join(", ")
        ));
        Ok(())
    }
}
