//! What the policy refuses: asked when a request is taken, and again before each step up to the
//! reboot into the trial. An operator who makes the policy stricter means what is under way too, so
//! both ask the same functions.

use super::accept::check_wanted;
use super::facts;
use super::old::skew_now;
use crate::observe::Observation;
use crate::policy::Policy;
use crate::reason::{Reason, complaint};
use crate::record::{Signatures, Upgrade};
use crate::target::{Source, Wanted};

/// What the policy says against a request, before anything of its image is known.
pub(super) fn check_policy(
    wanted: &Wanted,
    seen: &Observation,
    policy: &Policy,
) -> Result<(), Reason> {
    check_wanted(wanted, policy)?;
    check_opt_out(policy)?;
    if policy.require_watchdog {
        seen.watchdog.clone()?;
    }
    Ok(())
}

/// What the policy that is in force now says against an upgrade under way, by all that is known of
/// its image.
pub(super) fn check_again(up: &Upgrade, seen: &Observation, policy: &Policy) -> Result<(), Reason> {
    check_policy(&up.wanted(), seen, policy)?;
    if let Some(found) = &up.facts {
        facts::judge(found, &up.into(), seen, policy)?;
    }
    skew_now(up, seen, policy).unwrap_or(Ok(()))
}

/// Whether the policy now asks more of signatures than it did when the image was deployed. The
/// deployment asks for them once more.
pub(super) fn asks_for_other_signatures(up: &Upgrade, policy: &Policy) -> bool {
    let Some(before) = &up.signatures else {
        return false;
    };
    let now = Signatures::from(policy);
    let other_signer = is_container(up) && before.signed_by != now.signed_by;
    !now.unsigned && (before.unsigned || other_signer)
}

/// Whether nothing but skopeo's policy vouches for a container image now, and skopeo was not asked
/// by it. Its verdict is no part of the commit, so the image is asked for once more.
pub(super) fn lacks_the_verdict_of_skopeo(up: &Upgrade, policy: &Policy) -> bool {
    let now = Signatures::from(policy);
    let by_skopeo = !now.unsigned && now.signed_by.is_empty() && is_container(up);
    let was_asked = |before: &Signatures| !before.unsigned && before.signed_by.is_empty();
    by_skopeo && !up.signatures.as_ref().is_some_and(was_asked)
}

fn is_container(up: &Upgrade) -> bool {
    match up.wanted() {
        Wanted::Image(target) => matches!(target.source, Source::Container(_)),
        Wanted::Kept => false,
    }
}

fn check_opt_out(policy: &Policy) -> Result<(), Reason> {
    if policy.opt_out.is_empty() {
        return Ok(());
    }
    Err(Reason::OptedOut {
        by: "the policy's opt-out".to_owned(),
        why: complaint(&policy.opt_out),
    })
}
