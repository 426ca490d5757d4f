//! Runs `kubeadm upgrade node` again, in its unit, if the run before the kubelet failed.

use std::time::Duration;

use systemd::Bus;
use tokio::time::Instant;
use tracing::info;
use upgrade::{Reason, names};

use crate::access::{Errand, StepEnd};
use crate::kubeadm::{Notes, failed, is_running};

/// How often the agent checks for the end, and how long systemd may take to start the unit.
const LOOK: Duration = Duration::from_millis(500);
const START: Duration = Duration::from_secs(5);

/// Runs its unit again, no longer than the trial may last.
///
/// # Errors
/// As [`again_noting`].
pub async fn perform(errand: &Errand) -> Result<StepEnd, Reason> {
    let id = errand.upgrade()?;
    let notes = Notes::of(id);
    errand.unless_cancelled(again_noting(&notes)).await
}

/// Runs its unit again, then restarts the kubelet on the configuration that kubeadm wrote. If an
/// agent was killed in between, only restarts the kubelet.
///
/// # Errors
/// [`Reason::KubeadmFailed`] if kubeadm did not succeed. It cannot succeed without the API server.
pub async fn again_noting(notes: &Notes) -> Result<(), Reason> {
    let bus = Bus::system().await.map_err(unheard)?;
    notes.owe_restart()?;
    if !notes.has_succeeded() {
        rerun(&bus, notes).await?;
    }
    restart(&bus, names::KUBELET_UNIT).await?;
    notes.restarted()?;
    info!("kubeadm upgrade node has succeeded; the kubelet restarts");
    Ok(())
}

async fn rerun(bus: &Bus, notes: &Notes) -> Result<(), Reason> {
    restart(bus, names::KUBEADM_UNIT).await?;
    let start = Instant::now();
    while !notes.has_succeeded() {
        tokio::time::sleep(LOOK).await;
        // The unit needs a moment to get from its old end to its new start.
        let over = start.elapsed() > START && !is_running(bus).await.map_err(unheard)?;
        if over && !notes.has_succeeded() {
            return Err(failed(&notes.why_not()));
        }
    }
    Ok(())
}

async fn restart(bus: &Bus, unit: &str) -> Result<(), Reason> {
    bus.restart(unit).await.map_err(unheard)
}

fn unheard(error: systemd::Error) -> Reason {
    failed(&format!("systemd does not answer: {error}"))
}
