//! The trial is armed, and control passes to the new system.

use super::allowed::{asks_for_other_signatures, check_again, lacks_the_verdict_of_skopeo};
use super::called_off::renamed;
use super::connecting::unheard;
use super::old::{back_before_the_drain, pause, place_of_target, prepare, revert};
use super::{Act, give_up};
use crate::image::Deployment;
use crate::observe::{Observation, OneShot};
use crate::phase::Phase;
use crate::policy::Policy;
use crate::record::Upgrade;
use crate::step::{Outcome, Step};
use crate::target::{Source, Target};

/// The attempt is counted here, by the trusted system, before the one-shot is written.
pub(super) fn arm(
    up: &mut Upgrade,
    deployment: Deployment,
    seen: &Observation,
    policy: &Policy,
) -> Act {
    up.tries = up.tries.saturating_add(1);
    up.given_up = None;
    up.hold = None;
    up.well_since = None;
    (up.guarded, up.default_moved, up.reinstated) = (None, false, None);
    up.deadline_seconds = policy.health.deadline_seconds;
    in_words_that_every_guard_reads(up);
    up.phase = Phase::Armed {
        boot: seen.boot.clone(),
    };
    Act::Begin(Step::Arm { deployment })
}

/// The new image's guard reads this record, and may be older than images from registries. The request keeps the words.
fn in_words_that_every_guard_reads(up: &mut Upgrade) {
    let is_on_a_remote = matches!(up.target.source, Source::Remote(_));
    if let Some(commit) = up.target.commit.clone().filter(|_| !is_on_a_remote) {
        up.target = Target::here(commit);
    }
}

/// Armed, in the boot that armed: write the one-shot, then reboot at once. A killed agent comes back here any time
/// later, so what was true when it armed is looked at again.
pub(super) fn armed(up: &mut Upgrade, seen: &Observation, policy: &Policy) -> Act {
    if let Some(wait) = pause(up, seen) {
        return wait;
    }
    let place = check_again(up, seen, policy).and_then(|()| place_of_target(up, seen));
    match (place, seen.one_shot) {
        (Err(reason), _) => {
            count_none(up, seen);
            give_up(up, reason);
            revert(up, seen)
        }
        (Ok(_), _) if is_too_early(up, seen, policy) => armed_too_early(up, seen, policy),
        (Ok(deployment), one_shot) => unheard(seen).unwrap_or(match one_shot {
            OneShot::Set if has_just_armed(seen) => Act::Begin(Step::Reboot { force: false }),
            OneShot::Set | OneShot::Clear | OneShot::Unreadable => {
                Act::Begin(Step::Arm { deployment })
            }
        }),
    }
}

/// Whether something has changed that the arming relied on.
fn is_too_early(up: &Upgrade, seen: &Observation, policy: &Policy) -> bool {
    let held = seen.default_is_pinned();
    let unsigned = asks_for_other_signatures(up, policy) || lacks_the_verdict_of_skopeo(up, policy);
    unsigned || seen.etc_stale || seen.uncordoned || !held || renamed(up, seen).is_some()
}

/// GRUB counts its entries, and with each deployment that comes or goes the count is another: what was armed some time ago may lead elsewhere by now.
fn has_just_armed(seen: &Observation) -> bool {
    let finished = seen.finished.as_ref();
    finished.is_some_and(|finished| {
        matches!(finished.step, Step::Arm { .. }) && matches!(finished.outcome, Outcome::Done(_))
    })
}

/// The new system would boot with an /etc that is not the one of now, pods be ended by the reboot, or a clean-up take what the trial falls back
/// to: back to before the arming, which counts as none.
fn armed_too_early(up: &mut Upgrade, seen: &Observation, policy: &Policy) -> Act {
    count_none(up, seen);
    (up.phase, up.snapshot) = (Phase::Drained, false);
    // Written down before the one-shot goes, in which time the cordon may be set again and pods be back all the same.
    if seen.uncordoned
        && let Err(reason) = back_before_the_drain(up, policy)
    {
        give_up(up, reason);
        return revert(up, seen);
    }
    prepare(up, seen, policy)
}

/// The trial that was armed in this very boot did not come about: this system has kept control all the while, and there is nothing to put back.
pub(super) fn count_none(up: &mut Upgrade, seen: &Observation) {
    let armed_here = matches!(&up.phase, Phase::Armed { boot } if *boot == seen.boot);
    if armed_here {
        up.tries = up.tries.saturating_sub(1);
    }
}
