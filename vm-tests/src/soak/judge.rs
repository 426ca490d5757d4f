//! The power comes back: which system boots, how the upgrade ends, and what is left of it.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::cut::{Cut, Fate};
use super::recording::{Moment, Recording};
use crate::node::View;
use crate::rig::{Rig, UPGRADE};

/// How one cut ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Verdict {
    /// Its place in the plan.
    pub index: usize,
    /// What the Node said of the upgrade when the power went.
    pub phase: String,
    /// What became of the writes that were not safe.
    pub fate: Fate,
    /// From power-on until the node's Ready answer, in seconds.
    pub seconds: f64,
    /// The answer, `Upgraded` or `Failed`.
    pub answer: String,
    /// The reason's code, if there is one.
    pub code: Option<String>,
    /// Which promise was broken, and what was seen instead.
    pub broken: Option<String>,
}

/// Whether the request can be taken back in what the Node says is going on.
fn can_be_withdrawn(moment: &Moment) -> bool {
    ["Accepted", "Fetched", "Verified", "Deployed", "Drained"].contains(&moment.phase.as_str())
}

/// Boots the node and follows it to its rest.
///
/// # Errors
/// When it breaks a promise: the message says which.
pub async fn judge(
    rig: &mut Rig,
    recording: &Recording,
    cut: &Cut,
    moment: &Moment,
) -> Result<View> {
    let begun = Instant::now();
    rig.wait_boot(None).await?;
    if !cut.goes_on && can_be_withdrawn(moment) {
        rig.withdraw().await?;
    }
    let view = at_rest(rig, begun + UPGRADE).await?;
    let runs = match view.answer.as_deref() {
        Some("Upgraded") => &recording.new,
        _ => &recording.old,
    };
    rig.expect_runs(runs).await?;
    rig.expect_disarmed().await?;
    rig.expect_schedulable()?;
    let deployments = rig.deployments().await?;
    ensure!(deployments <= 2, "{deployments} deployments are left");
    Ok(view)
}

/// Until the Node has its answer, and is Ready and schedulable in the boot that runs.
async fn at_rest(rig: &mut Rig, deadline: Instant) -> Result<View> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let ended = |view: &View| matches!(view.answer.as_deref(), Some("Upgraded" | "Failed"));
        let there = |view: &View| ended(view) && view.ready && view.schedulable;
        let view = rig
            .node
            .wait("an answer of a Ready, schedulable node", left, there)
            .await?;
        // The Node still says what it said before the power went until its kubelet is back.
        if rig.boot_id().await? == view.boot {
            return Ok(view);
        }
        rig.node.changed(Duration::from_secs(5)).await;
    }
}
