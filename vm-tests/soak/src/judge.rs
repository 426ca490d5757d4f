//! The power returns. Checks which system boots, how the upgrade ends, and what it leaves.

use std::time::Duration;

use anyhow::{Result, ensure};
use rig::node::View;
use rig::{Rig, UPGRADE, expect_same};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use super::cut::Cut;
use super::marks::Mark;
use super::place::{Place, Recorded};
use super::recording::System;

/// How one cut ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Verdict {
    /// The cut.
    #[serde(flatten)]
    pub cut: Cut,
    /// The step of the upgrade at the power cut, by its record.
    pub step: String,
    /// Seconds from power-on until the node was Ready and schedulable with its answer.
    pub seconds: f64,
    /// The answer, `Upgraded` or `Failed`.
    pub answer: String,
    /// The code of the reason, if there is one.
    pub code: Option<String>,
    /// The broken promise, and what was seen instead.
    pub broken: Option<String>,
}

/// While the Node reports one of these phases, the request can be withdrawn.
const BEFORE_THE_TRIAL: [&str; 5] = ["Accepted", "Fetched", "Verified", "Deployed", "Drained"];
/// In these phases a trial may be counted but not judged. At `Drained` the arming may be on the
/// disk already.
const AROUND_THE_TRIAL: [&str; 4] = ["Drained", "Armed", "Trial", "Healthy"];

/// The trial runs, so its attempt was counted before and GRUB has cleared the one-shot.
const TRIAL: &str = "Trial";
/// From here on an upgrade continues even if the request is withdrawn (docs/state-machine.md).
const TOO_LATE: &str = "Armed";

/// The limit for the remaining work in the running boot, once it is Ready with its answer. An
/// interrupted cleanup runs again.
const CLEAN_UP: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_secs(5);

/// Whether the request of this cut is withdrawn.
fn is_taken_back(cut: &Cut, place: &Place<'_>) -> bool {
    !cut.goes_on && BEFORE_THE_TRIAL.contains(&place.told.phase.as_str())
}

/// Checks the reason of a failure. The only excuses are the cut itself and a bad image.
fn expect_excused(cut: &Cut, place: &Place<'_>, code: &str) -> Result<()> {
    let trial = place
        .phases()
        .any(|phase| AROUND_THE_TRIAL.contains(&phase));
    let excused = match code {
        "Withdrawn" => is_taken_back(cut, place),
        "NoVerdict" => trial,
        verdict if Some(verdict) == cut.way.verdict() => trial || !is_taken_back(cut, place),
        _ => false,
    };
    let phases: Vec<_> = place.phases().collect();
    ensure!(excused, "Failed, {code:?}, after a cut in {phases:?}");
    Ok(())
}

/// The system that must run with this answer.
fn expect_allowed<'a>(
    recorded: &'a Recorded,
    cut: &Cut,
    place: &Place<'_>,
    view: &View,
) -> Result<&'a System> {
    if view.answer.as_deref() == Some("Upgraded") {
        ensure!(
            cut.way.verdict().is_none(),
            "a bad image was made the default"
        );
        let phases: Vec<_> = place.phases().collect();
        let too_late = |phase: &&str| cut.way.has_come_to(TOO_LATE, phase);
        ensure!(
            !is_taken_back(cut, place) || phases.iter().any(too_late),
            "Upgraded, though the request was taken back after a cut in {phases:?}"
        );
        return Ok(&recorded.recording.new);
    }
    expect_excused(cut, place, code(view))?;
    Ok(&recorded.recording.old)
}

/// The policy allows one trial. The console output begins after the cut, so it cannot show a trial
/// that certainly came before.
fn expect_trials(trials: usize, recorded: &Recorded, cut: &Cut) -> Result<()> {
    let sure = recorded.surely(cut);
    let spent = sure.is_some_and(|mark| cut.way.has_come_to(TRIAL, &mark.phase));
    let left = usize::from(!spent);
    let step = sure.map(Mark::name).unwrap_or_default();
    ensure!(
        trials <= left,
        "{trials} trial boots after the cut, with {step:?} on the disk for sure; the policy has one in all"
    );
    Ok(())
}

/// Boots the node and follows it to its final state. Returns how long that took.
///
/// # Errors
///
/// Fails when the node breaks a promise. The message says which.
pub async fn judge(
    rig: &mut Rig,
    recorded: &Recorded,
    cut: &Cut,
    place: &Place<'_>,
) -> Result<Duration> {
    let begun = Instant::now();
    rig.wait_boot(None).await?;
    if is_taken_back(cut, place) {
        rig.withdraw().await?;
    }
    let view = at_rest(rig, begun + UPGRADE).await?;
    let took = begun.elapsed();
    let system = expect_allowed(recorded, cut, place, &view)?;
    let deadline = Instant::now() + CLEAN_UP;
    while let Err(broken) = look(rig, recorded, cut, system).await {
        ensure!(Instant::now() < deadline, broken);
        sleep(PAUSE).await;
    }
    // Whatever else was requested meanwhile, the answer is the judged one.
    let view = rig.node.now();
    expect_allowed(recorded, cut, place, &view)?;
    Ok(took)
}

/// Checks everything that must hold in the end: on the disk, in the menu, on the Node.
async fn look(rig: &mut Rig, recorded: &Recorded, cut: &Cut, system: &System) -> Result<()> {
    rig.expect_runs(&system.commit).await?;
    rig.expect_disarmed().await?;
    rig.expect_schedulable()?;
    rig.expect_clean().await?;
    expect_systems(rig, recorded, system).await?;
    expect_etc(rig, cut.way.policy()).await?;
    let view = rig.node.now();
    expect_same(&rig.record().await?, &view)?;
    ensure!(
        system.kubelet.as_ref() == Some(&view.kubelet),
        "the kubelet is {}, not {:?}",
        view.kubelet,
        system.kubelet
    );
    expect_trials(rig.trials(), recorded, cut)
}

/// The old system is always on the disk, the new one only where it runs.
async fn expect_systems(rig: &mut Rig, recorded: &Recorded, runs: &System) -> Result<()> {
    let (old, new) = (&recorded.recording.old, &recorded.recording.new);
    let list = "ls /sysroot/ostree/deploy/*/deploy";
    let there = rig.guest.run(list).await?;
    ensure!(there.contains(&old.commit), "the old system is gone");
    ensure!(
        there.contains(&new.commit) == (runs.commit == new.commit),
        "of the two systems there are these: {there}"
    );
    Ok(())
}

/// Checks that the operator's earlier file is there in the running system.
async fn expect_etc(rig: &mut Rig, policy: &str) -> Result<()> {
    let there = rig.guest.run("cat /etc/careen/policy.toml").await?;
    ensure!(there.contains(policy), "the policy is {there:?}");
    Ok(())
}

fn code(view: &View) -> &str {
    let code = view.status.as_ref().and_then(|status| status.code.as_ref());
    code.map_or("", String::as_str)
}

/// Waits until the Node has its answer, and is Ready and schedulable in the running boot.
async fn at_rest(rig: &mut Rig, deadline: Instant) -> Result<View> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let ended = |view: &View| matches!(view.answer.as_deref(), Some("Upgraded" | "Failed"));
        let there = |view: &View| ended(view) && view.ready && view.schedulable;
        let view = rig
            .node
            .wait("an answer of a Ready, schedulable node", left, there)
            .await?;
        // Until its kubelet is back, the Node still says what it said before the power cut.
        if rig.boot_id().await? == view.boot {
            return Ok(view);
        }
        rig.node.changed(Duration::from_secs(5)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{Moment, Recording};
    use crate::way::Way;
    use rig::fate::Fate;
    use rig::writes::{Log, Request};
    use serde_json::Value;

    fn cut(way: Way, goes_on: bool) -> Cut {
        Cut {
            plan: 1,
            index: 0,
            way,
            after: 1,
            fate: Fate::Lost,
            seed: 1,
            goes_on,
        }
    }

    fn told(phase: &str) -> Moment {
        Moment {
            after: 1,
            phase: phase.to_owned(),
            node: Value::Null,
        }
    }

    fn excused_of(way: Way, goes_on: bool, phases: [&str; 2], code: &str) -> bool {
        let (now, next) = (told(phases[0]), told(phases[1]));
        let place = Place {
            told: &now,
            next: Some(&next),
            mark: None,
        };
        expect_excused(&cut(way, goes_on), &place, code).is_ok()
    }

    fn excused(goes_on: bool, phase: &str, code: &str) -> bool {
        excused_of(Way::Upgrade, goes_on, [phase, phase], code)
    }

    #[test]
    fn only_a_cut_around_the_trial_excuses_a_missing_verdict() {
        for phase in ["Drained", "Armed", "Trial", "Healthy"] {
            assert!(excused(true, phase, "NoVerdict"), "{phase}");
        }
        for phase in ["", "Fetched", "Deployed", "Blessed", "Upgraded"] {
            assert!(!excused(true, phase, "NoVerdict"), "{phase}");
        }
    }

    #[test]
    fn judge_accepts_an_excuse_from_the_next_reported_phase() {
        let deployed = |next| excused_of(Way::Upgrade, true, ["Deployed", next], "NoVerdict");
        assert!(deployed("Armed") && !deployed("Deployed"));
    }

    #[test]
    fn only_what_was_taken_back_may_have_failed_for_it() {
        assert!(excused(false, "Fetched", "Withdrawn"));
        assert!(!excused(true, "Fetched", "Withdrawn"));
        assert!(!excused(false, "Trial", "Withdrawn"));
    }

    #[test]
    fn no_other_failure_is_excused() {
        for code in ["", "Damaged", "StageRefused", "Unhealthy"] {
            assert!(!excused(false, "Drained", code), "{code}");
        }
    }

    #[test]
    fn a_bad_image_fails_for_what_it_is_wherever_it_was_tried() {
        let bad = |goes_on, phase| excused_of(Way::Fallback, goes_on, [phase, phase], "Unhealthy");
        assert!(bad(true, "Fetched") && bad(false, "Trial") && bad(false, "Reverting"));
        assert!(!bad(false, "Fetched"), "taken back before it was tried");
    }

    const BYTES: Request = Request::Write {
        disk: 0,
        log: 0,
        length: 512,
    };

    /// The one-shot is armed and flushed, then the trial writes its record in the fourth request.
    /// The fifth flushes it.
    fn tried() -> Recorded {
        let mark = |(after, phase): (usize, &str)| Mark {
            after,
            phase: phase.to_owned(),
            step: None,
        };
        Recorded {
            way: Way::Upgrade,
            recording: Recording::default(),
            marks: [(1, "Armed"), (4, "Trial")].map(mark).into(),
            log: Log::of(vec![BYTES, Request::Flush, BYTES, BYTES, Request::Flush]).unwrap(),
        }
    }

    fn trials_allowed(after: usize, fate: Fate) -> usize {
        let cut = Cut {
            after,
            fate,
            ..cut(Way::Upgrade, true)
        };
        let allowed = |trials: &usize| expect_trials(*trials, &tried(), &cut).is_ok();
        (0..4).filter(allowed).count() - 1
    }

    #[test]
    fn judge_forbids_a_second_trial_after_a_recorded_one() {
        for fate in [Fate::Kept, Fate::Lost, Fate::Torn] {
            assert_eq!(trials_allowed(5, fate), 0, "{fate:?}");
        }
    }

    #[test]
    fn judge_allows_one_trial_when_the_cut_may_have_undone_it() {
        for fate in [Fate::Lost, Fate::Torn] {
            assert_eq!(trials_allowed(4, fate), 1, "not flushed, {fate:?}");
        }
        assert_eq!(trials_allowed(4, Fate::Kept), 0, "kept without a flush");
        assert_eq!(trials_allowed(3, Fate::Kept), 1, "only armed");
    }

    fn may_be_upgraded(goes_on: bool, phases: [&str; 2]) -> bool {
        let (now, next) = (told(phases[0]), told(phases[1]));
        let place = Place {
            told: &now,
            next: Some(&next),
            mark: None,
        };
        let view = View {
            answer: Some("Upgraded".to_owned()),
            ..View::default()
        };
        expect_allowed(&tried(), &cut(Way::Upgrade, goes_on), &place, &view).is_ok()
    }

    #[test]
    fn judge_rejects_an_upgrade_that_was_withdrawn_in_time() {
        assert!(!may_be_upgraded(false, ["Fetched", "Verified"]));
        assert!(!may_be_upgraded(false, ["Deployed", "Drained"]));
        assert!(may_be_upgraded(true, ["Fetched", "Verified"]));
    }

    #[test]
    fn judge_accepts_a_withdrawn_upgrade_that_may_be_armed() {
        assert!(may_be_upgraded(false, ["Drained", "Armed"]));
        assert!(may_be_upgraded(false, ["Drained", "Trial"]));
        assert!(may_be_upgraded(false, ["Armed", "Trial"]));
    }
}
