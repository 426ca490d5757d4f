//! The power comes back: which system boots, how the upgrade ends, and what is left of it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use upgrade::{Phase, Record};

use super::cut::Cut;
use super::recording::{Moment, Recording};
use crate::node::View;
use crate::rig::{Rig, UPGRADE};

/// How one cut ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Verdict {
    /// The cut.
    #[serde(flatten)]
    pub cut: Cut,
    /// What the Node said of the upgrade when the power went.
    pub phase: String,
    /// From power-on until the node's Ready answer, in seconds.
    pub seconds: f64,
    /// The answer, `Upgraded` or `Failed`.
    pub answer: String,
    /// The reason's code, if there is one.
    pub code: Option<String>,
    /// Which promise was broken, and what was seen instead.
    pub broken: Option<String>,
}

/// When the Node says one of these, the request can be taken back.
const BEFORE_THE_TRIAL: [&str; 5] = ["Accepted", "Fetched", "Verified", "Deployed", "Drained"];
/// When it says one of these, a trial may have been counted and not judged. At `Drained` the arming may be on the disk already.
const AROUND_THE_TRIAL: [&str; 4] = ["Drained", "Armed", "Trial", "Healthy"];

/// Whether the request of this cut is taken back.
fn is_taken_back(cut: &Cut, moment: &Moment) -> bool {
    !cut.goes_on && BEFORE_THE_TRIAL.contains(&moment.phase.as_str())
}

/// An upgrade may fail for what was done to it, and for nothing else.
fn expect_excused(cut: &Cut, moment: &Moment, code: &str) -> Result<()> {
    let excused = match code {
        "Withdrawn" => is_taken_back(cut, moment),
        "NoVerdict" => AROUND_THE_TRIAL.contains(&moment.phase.as_str()),
        _ => false,
    };
    let phase = &moment.phase;
    ensure!(excused, "Failed, {code:?}, after a cut in {phase:?}");
    Ok(())
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
    if is_taken_back(cut, moment) {
        rig.withdraw().await?;
    }
    let view = at_rest(rig, begun + UPGRADE).await?;
    let runs = if view.answer.as_deref() == Some("Upgraded") {
        &recording.new
    } else {
        expect_excused(cut, moment, code(&view))?;
        &recording.old
    };
    rig.expect_runs(runs).await?;
    rig.expect_disarmed().await?;
    rig.expect_schedulable()?;
    rig.expect_clean().await?;
    expect_same(&rig.record().await?, &view)?;
    Ok(view)
}

fn code(view: &View) -> &str {
    let code = view.status.as_ref().and_then(|status| status.code.as_ref());
    code.map_or("", String::as_str)
}

/// The Node says what the record says.
fn expect_same(record: &Record, view: &View) -> Result<()> {
    let up = record.upgrade.as_ref();
    let up = up.context("the record knows of no upgrade")?;
    let status = view.status.as_ref();
    let status = status.context("the Node has no status")?;
    let reason = match &up.phase {
        Phase::Failed { reason } | Phase::Halted { reason } => Some(reason.code()),
        _ => None,
    };
    let recorded = (Some(&up.id), up.phase.name(), up.tries, &reason);
    let told = (
        status.id.as_ref(),
        status.phase.as_str(),
        status.tries,
        &status.code,
    );
    ensure!(
        recorded == told,
        "the record says {recorded:?}, the Node {told:?}"
    );
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soak::cut::Fate;
    use serde_json::Value;
    use upgrade::report::Status;

    fn cut(goes_on: bool) -> Cut {
        Cut {
            index: 0,
            after: 1,
            fate: Fate::Lost,
            seed: 1,
            goes_on,
        }
    }

    fn excused(goes_on: bool, phase: &str, code: &str) -> bool {
        let phase = phase.to_owned();
        let (after, node) = (1, Value::Null);
        let moment = Moment { after, phase, node };
        expect_excused(&cut(goes_on), &moment, code).is_ok()
    }

    #[test]
    fn only_a_cut_around_the_trial_excuses_a_trial_without_a_verdict() {
        for phase in ["Drained", "Armed", "Trial", "Healthy"] {
            assert!(excused(true, phase, "NoVerdict"), "{phase}");
        }
        for phase in ["", "Fetched", "Deployed", "Blessed", "Upgraded"] {
            assert!(!excused(true, phase, "NoVerdict"), "{phase}");
        }
    }

    #[test]
    fn only_what_was_taken_back_may_have_failed_for_it() {
        assert!(excused(false, "Fetched", "Withdrawn"));
        assert!(!excused(true, "Fetched", "Withdrawn"));
        assert!(!excused(false, "Trial", "Withdrawn"));
    }

    #[test]
    fn no_other_failure_is_excused() {
        for code in ["", "Damaged", "StageRefused", "NotReady"] {
            assert!(!excused(false, "Drained", code), "{code}");
        }
    }

    /// What a node remembers of an upgrade that failed.
    const RECORD: &str = include_str!("../../../src/host/tests/samples/v1-failed");

    #[test]
    fn a_node_that_says_something_else_than_the_record_is_found() {
        // Behind it stands its checksum.
        let mut record = serde_json::Deserializer::from_str(RECORD).into_iter::<Record>();
        let record = record.next().unwrap().unwrap();
        let up = record.upgrade.clone().unwrap();
        let Phase::Failed { reason } = &up.phase else {
            panic!("{:?}", up.phase);
        };
        let says = |phase: &str, code: String| View {
            status: Some(Status {
                id: Some(up.id.clone()),
                phase: phase.to_owned(),
                code: Some(code),
                tries: up.tries,
                ..Status::default()
            }),
            ..View::default()
        };
        let same = |view: &View| expect_same(&record, view);
        same(&says("Failed", reason.code())).unwrap();
        assert!(same(&says("Trial", reason.code())).is_err());
        assert!(same(&says("Failed", "NoVerdict".to_owned())).is_err());
        assert!(same(&View::default()).is_err());
    }
}
