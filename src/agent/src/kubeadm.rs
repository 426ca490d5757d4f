//! `kubeadm upgrade node`: once per upgrade before the new kubelet starts, and again by the agent where that failed.
//!
//! It needs the API server and hangs silently without one, so it is bounded. The new kubelet also starts on the old
//! configuration; but without kubeadm's success for this very upgrade nothing is blessed.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::Command;
use tokio::time::Instant;
use tracing::info;
use upgrade::observe::Check;
use upgrade::{Phase, Reason, Record, UpgradeId, names};

use crate::node::systemd::{Bus, timed};

/// How long it may take. About 3 s on a quiet node; slow machines and a loaded API server get plenty.
const LIMIT: Duration = Duration::from_secs(90);

/// How often its end is looked for, and how long systemd may take to begin it.
const LOOK: Duration = Duration::from_millis(500);
const START: Duration = Duration::from_secs(5);

/// Where its success for one upgrade is noted. /run: a new boot must prove it anew.
#[must_use]
pub fn marker(id: &UpgradeId) -> PathBuf {
    Path::new(names::RUN_DIR).join(format!("kubeadm-{id}"))
}

/// Whether it has succeeded in this boot.
pub async fn check(id: &UpgradeId) -> Check {
    if marker(id).exists() {
        return Check::Pass;
    }
    match running_now().await {
        Ok(true) => Check::Pending("kubeadm upgrade node is running".to_owned()),
        Ok(false) => Check::Fail(format!("it has not succeeded yet; {}", where_to_look())),
        Err(error) => Check::Pending(format!("systemd does not answer: {error}")),
    }
}

async fn running_now() -> zbus::Result<bool> {
    is_running(&Bus::connect().await?).await
}

/// The unit stays `active` when its work is over, so only `activating` means that it works.
async fn is_running(bus: &Bus) -> zbus::Result<bool> {
    Ok(bus.state(names::KUBEADM_UNIT).await?.as_deref() == Some("activating"))
}

/// The id of the upgrade whose trial runs, if one does.
#[must_use]
pub fn on_trial(record: &Record) -> Option<&UpgradeId> {
    let upgrade = record.upgrade.as_ref()?;
    matches!(upgrade.phase, Phase::Armed { .. } | Phase::Trial { .. }).then_some(&upgrade.id)
}

/// Runs it and notes its success.
///
/// # Errors
/// Why it did not succeed, in a person's words.
pub async fn run(id: &UpgradeId) -> Result<(), String> {
    let status = tokio::time::timeout(LIMIT, spawn())
        .await
        .map_err(|_| {
            format!(
                "kubeadm upgrade node gave no answer in {} s",
                LIMIT.as_secs()
            )
        })?
        .map_err(|error| format!("kubeadm cannot be run: {error}"))?;
    if !status.success() {
        return Err(format!(
            "kubeadm upgrade node ended with {status}; its words stand above"
        ));
    }
    std::fs::create_dir_all(names::RUN_DIR).map_err(|error| error.to_string())?;
    std::fs::write(marker(id), "").map_err(|error| format!("its success cannot be noted: {error}"))
}

/// Its output goes to our journal.
async fn spawn() -> std::io::Result<ExitStatus> {
    Command::new("kubeadm")
        .args(["upgrade", "node"])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .status()
        .await
}

/// Where its words are.
fn where_to_look() -> String {
    format!("see journalctl -u {}", names::KUBEADM_UNIT)
}

fn failed(detail: &str) -> Reason {
    Reason::KubeadmFailed {
        detail: detail.to_owned(),
    }
}

/// Has its unit run once more, then the kubelet restarted on what it wrote.
///
/// # Errors
/// [`Reason::KubeadmFailed`] when it did not succeed: without the API server it cannot.
pub async fn again(id: &UpgradeId) -> Result<(), Reason> {
    let text = |error: zbus::Error| failed(&format!("systemd does not answer: {error}"));
    let bus = Bus::connect().await.map_err(text)?;
    let systemd = bus.systemd().await.map_err(text)?;
    timed(systemd.restart_unit(names::KUBEADM_UNIT, "replace"))
        .await
        .map_err(text)?;
    let start = Instant::now();
    while !marker(id).exists() {
        tokio::time::sleep(LOOK).await;
        // The unit needs a moment to get from its old end to its new start.
        let over = start.elapsed() > START && !is_running(&bus).await.map_err(text)?;
        if over && !marker(id).exists() {
            return Err(failed(&where_to_look()));
        }
    }
    timed(systemd.restart_unit(names::KUBELET_UNIT, "replace"))
        .await
        .map_err(text)?;
    info!("kubeadm upgrade node has succeeded; the kubelet restarts");
    Ok(())
}
