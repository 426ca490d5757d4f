//! Brains that are wrong about a control plane.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "each function applies some of the mutants"
)]

use upgrade::control_plane::{Done, Survey, Task};
use upgrade::record::{Control, Lock, Look, Raise, Snapshot};
use upgrade::{
    Act, Asked, Effect, Moment, Observation, Outcome, Phase, Reason, Record, Step, Upgrade,
};

use crate::mistakes::Mutant;

/// Changes what the brain remembers or sees.
pub fn mislead(mutant: Mutant, record: &mut Record, seen: &mut Observation) {
    let open = record.upgrade.as_mut().filter(|up| !up.phase.is_end());
    match mutant {
        Mutant::TakesAControlPlaneForAWorker if open.is_none() => {
            seen.machine.control_plane = None;
        }
        Mutant::IgnoresTheMount => {
            let found = seen.machine.control_plane.as_mut();
            found.into_iter().for_each(|found| found.shared = Ok(()));
        }
        Mutant::TakesAWorkerForAControlPlane => {
            open.into_iter().for_each(|up| {
                up.control.get_or_insert_default();
            });
        }
        _ => {
            if let Some(up) = open {
                mislead_about(mutant, up, seen);
            }
        }
    }
}

fn mislead_about(mutant: Mutant, up: &mut Upgrade, seen: &mut Observation) {
    let now = Moment {
        boot: seen.turn.boot.clone(),
        at: seen.turn.now,
    };
    let reverts = matches!(up.phase, Phase::Reverting { .. } | Phase::Blessed);
    let Some(control) = &mut up.control else {
        return;
    };
    match mutant {
        Mutant::LeavesWithoutAQuorum => surveyed(seen, |survey| {
            survey.members.iter_mut().for_each(|one| one.sick = None);
            survey.others.iter_mut().for_each(|one| one.ready = true);
            survey.nodes_not_ready.clear();
        }),
        Mutant::TrustsAnOldLook => {
            let look = control.look.as_mut();
            look.into_iter().for_each(|look| look.seen = now.clone());
        }
        Mutant::TakesNoLock if control.lock == Lock::Free && !reverts => {
            control.lock = Lock::Held { seen: now };
        }
        Mutant::TrustsAnOldLock => {
            if let Lock::Held { seen } = &mut control.lock {
                *seen = now;
            }
        }
        // What counts at the drain counts at the arming too.
        Mutant::ReadsNoLockBeforeTheArming if up.phase == Phase::Drained => {
            if let Lock::Held { seen } = &mut control.lock
                && seen.boot == now.boot
                && now.at <= seen.at.plus_seconds(300)
            {
                *seen = now;
            }
        }
        Mutant::SavesNoEtcd => control.snapshot = Snapshot::NotHere,
        Mutant::ForgetsTheRaise => {
            let look = control.look.as_mut();
            look.into_iter().for_each(|look| look.raises = false);
        }
        Mutant::BlessesWithoutALook if up.phase.awaits_a_verdict() => {
            control.look = Some(well_now(now));
        }
        Mutant::KeepsTheLock if reverts => control.lock = Lock::Free,
        Mutant::GivesAHurtMemberBack if reverts => forget_the_hurt(control, seen),
        Mutant::ForgetsSinceWhenItIsHurt if reverts => {
            let hurt = control.look.as_mut().and_then(|look| look.hurt.as_mut());
            hurt.into_iter().for_each(|hurt| hurt.since = now.clone());
        }
        _ => {}
    }
}

/// A look that nobody has made.
const fn well_now(seen: Moment) -> Look {
    Look {
        seen,
        waits: None,
        hurt: None,
        raises: false,
        alone: false,
        needed: false,
    }
}

fn forget_the_hurt(control: &mut Control, seen: &mut Observation) {
    let look = control.look.as_mut();
    look.into_iter().for_each(|look| look.hurt = None);
    surveyed(seen, |survey| {
        survey.unseen.clear();
        survey.kind = upgrade::control_plane::Kind::External;
    });
}

/// Changes the survey that has just ended.
fn surveyed(seen: &mut Observation, change: impl FnOnce(&mut Survey)) {
    let finished = seen.turn.finished.as_mut();
    let outcome = finished.map(|finished| &mut finished.outcome);
    if let Some(Outcome::Done(Effect::Controlled(Done::Surveyed(survey)))) = outcome {
        change(survey);
    }
}

/// Changes the brain's answer.
pub fn distort(
    mutant: Mutant,
    former: &Record,
    seen: &Observation,
    (next, act): (&mut Option<Record>, &mut Act),
) {
    let [raise, give_up] = [Task::Raise, Task::GiveUp].map(|task| Step::Control { task });
    let was = former.upgrade.as_ref();
    let kept = was
        .and_then(|up| up.control.as_ref())
        .map(|control| control.snapshot.clone());
    let control = next
        .as_mut()
        .and_then(|next| next.upgrade.as_mut()?.control.as_mut());
    match (mutant, control) {
        (Mutant::StopsARaise, _)
            if seen.turn.running == Some(raise.clone()) && seen.node.request == Asked::Nothing =>
        {
            *act = Act::Cancel;
        }
        (Mutant::NotesNoRaise, Some(control)) if *act == Act::Begin(raise) => {
            control.raise = Raise::Due;
        }
        (Mutant::LeavesARaiseUnderWay, Some(control)) if *act == Act::Begin(give_up) => {
            control.raise = Raise::GivenUp;
            *act = Act::Wait(Some(seen.turn.now));
        }
        (Mutant::KeepsTheSnapshotOfAnotherTurn, Some(control)) if control.snapshot.is_due() => {
            control.snapshot = kept.unwrap_or_default();
        }
        (Mutant::ReadsNoLockBeforeTheArming, Some(control)) => keep_the_time(was, control),
        (Mutant::UnlocksWhatHasHalted, _) if was.is_some_and(may_unlock) => {
            let ended = seen.turn.finished.is_some();
            if !ended && matches!(act, Act::Wait(None)) && seen.turn.running.is_none() {
                *act = Act::Begin(Step::Control { task: Task::Unlock });
            }
        }
        _ => {}
    }
}

/// Trust in an old lock does not make it newer: only an answer does, after which it was asked for.
fn keep_the_time(was: Option<&Upgrade>, control: &mut Control) {
    let was = was.and_then(|up| up.control.as_ref());
    if let (Some(Lock::Held { seen }), Lock::Held { seen: now }) =
        (was.map(|was| &was.lock), &mut control.lock)
    {
        now.clone_from(seen);
    }
}

fn may_unlock(up: &Upgrade) -> bool {
    matches!(
        up.phase,
        Phase::Halted {
            reason: Reason::ControlPlaneHurt { .. }
        }
    )
}
