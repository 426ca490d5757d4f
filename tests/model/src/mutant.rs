//! The shipped brain, and brains that are broken on purpose. The model must catch each of them, or
//! it proves nothing.
//!
//! A mutant changes what the brain remembers or sees before it decides, or what it answers. Some
//! break the loop around the brain instead, because the mistake is possible only there. `machine`,
//! `steps`, `boot` and `plane` apply those.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "each function applies some of the mutants"
)]

use std::convert::Infallible;

use upgrade::policy::BranchChange;
use upgrade::record::Custody;
use upgrade::serving::Serving;
use upgrade::step::Effect;
use upgrade::window::Hours;
use upgrade::{
    Act, Api, Asked, Causes, Check, Finished, Health, Home, Membership, Observation, OneShot,
    Outcome, Phase, Policy, Record, RecordStore, SinceBoot, Step, TrialEnd, Upgrade,
};

use crate::cast::{digest, version};
use crate::look::{fails, is_pending, offer};
use crate::mistakes::Mutant;
use crate::plane::mutant as plane;
use crate::world::{Flaw, State};

/// How many seconds a careful operator wants a new system to be healthy without a break: longer
/// than the trial's deadline, and longer than the timeout for an unavailable API server.
pub const SOAK: u16 = 3000;

/// How many seconds a careful operator lets an upgrade wait for the control plane.
pub const WAIT: u16 = 60;

/// How many seconds a careful operator's node keeps Careen's shields after it was given back.
pub const SETTLE: u16 = 300;

/// The model writes the record itself, as a separate step that a power cut can precede.
struct Later;

impl RecordStore for Later {
    type Error = Infallible;

    fn store(&mut self, _: &Record) -> Result<(), Infallible> {
        Ok(())
    }
}

/// The policy: the defaults, with fewer attempts of a step, which are otherwise like more, and a
/// careful operator's settings. The hours end as a fault, and come again when a run waits for them.
fn policy(state: &State, mutant: Option<Mutant>) -> Policy {
    let mut policy = Policy {
        tries: 2,
        ..Policy::default()
    };
    // A permission for the running branch only.
    policy.downgrade = state.flaw == Flaw::OtherBranch;
    if policy.downgrade && mutant == Some(Mutant::TakesADowngradeForAnotherBranch) {
        policy.branch_change = BranchChange::Any;
    }
    policy.control_plane.enabled = state.plane.is_some();
    if state.careful && mutant != Some(Mutant::WaitsWithoutEnd) {
        policy.control_plane.wait_seconds = WAIT.into();
    }
    policy.load_balancer.exclude = state.careful;
    let settles = state.careful && mutant != Some(Mutant::RemovesItsShieldsAtOnce);
    policy.neighbours.settle_seconds = if settles { SETTLE.into() } else { 0 };
    policy.health.bless_without_api = state.alone;
    // A careful operator's soak covers it.
    policy.health.steady_seconds = 0;
    if state.careful && mutant != Some(Mutant::SoaksForNoTime) {
        policy.health.soak_seconds = SOAK.into();
    }
    policy
        .window
        .open
        .extend(hours(state, mutant).and_then(|hours| hours.parse::<Hours>().ok()));
    policy
}

/// The operator's hours, where they matter. The wall clock shows midnight.
fn hours(state: &State, mutant: Option<Mutant>) -> Option<&'static str> {
    if state.shut && mutant != Some(Mutant::WorksOutsideTheHours) {
        return Some("daily 01:00-02:00");
    }
    // Open, by a clock that is not set.
    state.running.unset.then_some("daily 00:00-06:00")
}

/// Calls the brain, or a mutant.
#[must_use]
pub fn decide(mutant: Option<Mutant>, state: &State, seen: &Observation) -> (Option<Record>, Act) {
    let former = state.disk.record.record();
    let (mut record, mut shown) = (former.clone(), seen.clone());
    if let Some(mutant) = mutant {
        mislead(mutant, &mut record, &mut shown);
        plane::mislead(mutant, &mut record, &mut shown);
    }
    let policy = policy(state, mutant);
    let decision = upgrade::decide(&shown, &Ok(record), &Ok(policy));
    let Ok((mut next, mut act)) = decision.commit(&mut Later);
    if let Some(mutant) = mutant {
        distort(mutant, former, seen, (&mut next, &mut act));
        plane::distort(mutant, former, seen, (&mut next, &mut act));
    }
    (next, act)
}

/// Changes what the brain remembers or sees.
fn mislead(mutant: Mutant, record: &mut Record, seen: &mut Observation) {
    if mutant == Mutant::ForgetsThePostHooks {
        seen.machine.hooks.post = false;
    }
    if mutant == Mutant::IgnoresTheBadImage {
        record.bad.clear();
    }
    if mutant == Mutant::TakesASpentRequestAgain {
        record.spent = None;
    }
    if mutant == Mutant::HearsNoPause {
        seen.node.paused = None;
    }
    if mutant == Mutant::TakesARequestWhileStateIsOwed {
        seen.machine.restored = Ok(());
    }
    if mutant == Mutant::IgnoresChangedEtc {
        seen.machine.etc_stale = false;
    }
    if mutant == Mutant::TrustsAClockThatIsNotSet {
        seen.turn.clock_set = true;
    }
    mislead_about_others(mutant, seen);
    if mutant == Mutant::BlamesTheImageForTheNode {
        seen.turn.health.causes = Causes::default();
    }
    if mutant == Mutant::BlamesTheImageForAReset {
        seen.machine.last_trial.end = Some(TrialEnd::Panic);
    }
    if mutant == Mutant::BlessesBeforeHealth && seen.machine.on_trial() {
        seen.turn.health = well();
    }
    // What only the API server shows counts as good while the server is unavailable.
    if mutant == Mutant::BlessesWithoutTheApiServer
        && seen.machine.on_trial()
        && seen.node.api == Api::Away
    {
        (seen.turn.health.ready, seen.turn.health.version) = (Check::Pass, Check::Pass);
        seen.turn.serving.node = Some(offer(true));
    }
    if mutant == Mutant::BlessesAloneAtOnce && seen.machine.on_trial() && seen.node.api == Api::Away
    {
        seen.turn.now = seen.turn.now.plus_seconds(600);
    }
    if let (Mutant::IgnoresTheSkew, Api::Reached { version: known, .. }) =
        (mutant, &mut seen.node.api)
    {
        *known = known.take().map(|_| version('f'));
    }
    if mutant == Mutant::IgnoresAForeignDefault {
        let booted = seen.machine.booted.clone();
        seen.machine
            .deployments
            .sort_by_key(|one| !one.same(&booted));
    }
    match record.upgrade.as_mut() {
        Some(up) if up.phase.is_end() => mislead_after(mutant, up, seen),
        Some(up) => mislead_about(mutant, up, seen),
        None => {}
    }
}

/// Changes what the brain sees of other people's actions on the node.
fn mislead_about_others(mutant: Mutant, seen: &mut Observation) {
    match mutant {
        Mutant::IgnoresATakenOffCordon => seen.node.uncordoned = false,
        Mutant::LeavesItsMark => seen.node.stale_mark = false,
        Mutant::TakesAHostForANode => seen.node.membership = Membership::Joined,
        Mutant::TakesAHostForReached if seen.machine.on_trial() => {
            let version = None;
            let since = seen.turn.started;
            seen.node.api = Api::Reached { since, version };
            seen.turn.health.ready = Check::Pass;
        }
        Mutant::LeavesItsShields => seen.node.shielded = false,
        Mutant::IgnoresAStagedSystem => seen.machine.staged = false,
        Mutant::ArmsWithoutThePin => {
            let default = seen.machine.deployments.first_mut();
            default.into_iter().for_each(|one| one.pinned = true);
        }
        Mutant::LeavesACordonThatComesBack => seen.node.own_cordon = false,
        Mutant::LeavesAnExclusionThatComesBack => seen.node.own_exclusion = false,
        _ => {}
    }
}

/// Changes what the brain remembers or sees after the end of an upgrade.
fn mislead_after(mutant: Mutant, up: &mut Upgrade, seen: &mut Observation) {
    if mutant == Mutant::LeavesAHaltedCordon {
        // The brain would recover if it still saw its cordon or its load balancer label.
        up.custody = up.custody.give_back(None);
        (seen.node.own_cordon, seen.node.own_exclusion) = (false, false);
    }
    // The same of the one-shot entry.
    if mutant == Mutant::NeverDisarms {
        seen.machine.one_shot = OneShot::Clear;
    }
    let reboot = |ended: &Finished| matches!(ended.step, Step::Reboot { .. });
    if mutant == Mutant::SpinsOnARefusedReboot && seen.turn.finished.as_ref().is_some_and(reboot) {
        seen.turn.finished = None;
    }
}

/// Changes what the brain remembers or sees of the upgrade under way.
fn mislead_about(mutant: Mutant, up: &mut Upgrade, seen: &mut Observation) {
    let old_runs = up.from.same(&seen.machine.booted);
    match mutant {
        Mutant::CountsNoAttempt => up.attempt.tries = 0,
        Mutant::SkipsTheSnapshot => up.attempt.saved = true,
        Mutant::SavesBeforeTheFirstTrialAlone if up.attempt.tries > 0 => up.attempt.saved = true,
        Mutant::KeepsTheCordon => up.custody = up.custody.give_back(None),
        // As for the mutation above.
        Mutant::ForgetsThatItHasTakenTheNode => {
            up.custody = Custody::Users {
                hooks_due: up.custody.hooks_due(),
            };
            (seen.node.own_cordon, seen.node.own_exclusion) = (false, false);
        }
        Mutant::GoesOnThoughTheNodeIsBeingGivenBack if is_being_given_back(up) => {
            up.phase = Phase::Drained;
        }
        Mutant::EndsASoakByWhatItCannotSee if is_pending(&seen.turn.health) => {
            up.attempt.well_since = None
        }
        Mutant::TakesReadyForServing => up.served = Serving::default(),
        Mutant::ForgetsItsNoteAtTheNextTrial => {
            let finished = seen.turn.finished.as_mut();
            let saved = finished.filter(|finished| finished.step == Step::Snapshot);
            if let Some(Outcome::Done(effect)) = saved.map(|finished| &mut finished.outcome) {
                *effect = Effect::Saved {
                    pods: Some(Vec::new()),
                };
            }
        }
        Mutant::ForgetsALateKubeadm => {
            (up.attempt.kubeadm.due, up.attempt.kubeadm.configured) =
                (false, Some(seen.turn.boot.clone()));
        }
        Mutant::TrustsKubeadmOfAnotherBoot if up.attempt.kubeadm.configured.is_some() => {
            up.attempt.kubeadm.configured = Some(seen.turn.boot.clone());
        }
        Mutant::RestartsASoakForTheAbsentServer if fails(&seen.turn.health) => {
            up.attempt.well_since = None
        }
        Mutant::BlessesAloneThoughTheOldSystemHasReachedTheServer if !old_runs => {
            (up.api.from_old, up.custody) = (false, up.custody.before_the_drain());
        }
        Mutant::HearsNoWithdrawal => seen.node.request = Asked::This(up.request.clone()),
        Mutant::ArmsBeforeTheDrainEnded if up.phase == Phase::Deployed => up.phase = Phase::Drained,
        Mutant::IgnoresChangedEtcOnceArmed if matches!(up.phase, Phase::Armed { .. }) => {
            seen.machine.etc_stale = false;
        }
        Mutant::RebootsUnheardOnceArmed if matches!(up.phase, Phase::Armed { .. }) => {
            seen.turn.started = SinceBoot(0);
        }
        Mutant::NeverDisarms if !matches!(up.phase, Phase::Armed { .. }) => {
            seen.machine.one_shot = OneShot::Clear;
        }
        Mutant::LeavesAForeignDefault if seen.machine.trial => {
            up.attempt.default.note_reinstating(seen.turn.boot.clone());
        }
        Mutant::TakesAForeignDefaultForItsOwn if seen.machine.trial => {
            let commit = digest('b');
            up.intent = Some(Step::Bless { commit, over: None });
        }
        Mutant::BlessesOnAnOldVerdict if matches!(up.phase, Phase::Healthy { .. }) => {
            seen.turn.health = well();
        }
        Mutant::BlessesOnAnotherBootsHealth => {
            if let Phase::Healthy { boot } = &mut up.phase {
                boot.clone_from(&seen.turn.boot);
            }
        }
        Mutant::TrustsMemoryOverWhatIsSeen if old_runs => {
            if let (Phase::Trial { .. }, Some(to)) = (&up.phase, &up.to) {
                seen.machine.booted = to.clone();
            }
        }
        _ => {}
    }
}

/// Changes the brain's answer.
fn distort(
    mutant: Mutant,
    former: &Record,
    seen: &Observation,
    (next, act): (&mut Option<Record>, &mut Act),
) {
    let was_armed = is_armed(former);
    if let (Mutant::KeepsTheGeneration, Some(next)) = (mutant, next.as_mut()) {
        next.generation = former.generation;
    }
    let changed = next.as_mut().and_then(|next| next.upgrade.as_mut());
    let leaves = matches!(act, Act::Begin(Step::Reboot { .. })) && seen.machine.on_trial();
    match (mutant, changed) {
        (Mutant::ForgetsTheIntent, Some(up)) => up.intent = None,
        (Mutant::ForgetsSinceWhenTheNodeSettles, Some(up)) if is_another(up, former) => {
            up.custody = Custody::Users { hooks_due: false };
        }
        (Mutant::HoldsTheDeadmanForEver, Some(up)) => {
            if let Some(hold) = &mut up.attempt.hold {
                hold.at = SinceBoot(u64::MAX);
            }
        }
        (Mutant::CountsTheAttemptAfterTheReboot, Some(up)) => {
            if matches!(up.phase, Phase::Armed { .. }) && !was_armed {
                up.attempt.tries = up.attempt.tries.saturating_sub(1);
            }
            if matches!(up.phase, Phase::Trial { .. }) && was_armed {
                up.attempt.tries += 1;
            }
        }
        (Mutant::SkipsTheGuard, _) if seen.turn.home == Home::Stage => {
            *act = Act::Begin(Step::Pass)
        }
        (Mutant::UndoesWhatRuns, _) if leaves && seen.turn.home == Home::Agent => {
            let commit = Some(seen.machine.booted.digest.clone());
            *act = Act::Begin(Step::Undo { commit });
        }
        (Mutant::RebootsTheOldSystem, _) if *act == Act::Begin(Step::Release) => {
            *act = Act::Begin(Step::Reboot { force: false });
        }
        (Mutant::RemovesItsShieldsOnceDrained, _)
            if seen.node.shielded && *act == Act::Begin(Step::Snapshot) =>
        {
            *act = Act::Begin(Step::Settle);
        }
        // The new system treats the old one's folder as unused.
        (Mutant::ForgetsTheOldDefault, _) if *act == Act::Begin(Step::Snapshot) => {
            let commit = Some(digest('a'));
            *act = Act::Begin(Step::Undo { commit });
        }
        _ => {}
    }
}

/// Whether the hooks are already undone, and the cordon is being removed or is gone.
fn is_being_given_back(up: &Upgrade) -> bool {
    let undone = match &up.custody {
        Custody::Users { .. } => false,
        Custody::Upgrade(taken) => !taken.prepared && !taken.hooks_due,
        Custody::GivenBack { hooks_due, .. } => !hooks_due,
    };
    up.phase == Phase::Deployed && undone
}

/// Whether this upgrade has just begun.
fn is_another(up: &Upgrade, former: &Record) -> bool {
    let former = former.upgrade.as_ref();
    former.is_some_and(|former| former.id != up.id)
}

fn is_armed(record: &Record) -> bool {
    let up = record.upgrade.as_ref();
    up.is_some_and(|up| matches!(up.phase, Phase::Armed { .. }))
}

fn well() -> Health {
    Health {
        runtime: Check::Pass,
        kubelet: Check::Pass,
        sandbox: Check::Pass,
        credential: Check::Pass,
        kubeadm: Check::Pass,
        ready: Check::Pass,
        version: Check::Pass,
        pod_network: Check::Pass,
        required: Vec::new(),
        causes: Causes::default(),
    }
}
