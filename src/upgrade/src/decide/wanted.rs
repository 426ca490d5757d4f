//! What is asked for, and what speaks against it before anything is touched.

use super::{allowed, memory};
use crate::id::UpgradeId;
use crate::names;
use crate::observe::Observation;
use crate::policy::Policy;
use crate::reason::{Reason, complaint};
use crate::record::Record;
use crate::target::{Target, Wanted};

/// What is wanted, with all that speaks against it before anything is touched. A plan is told the
/// same.
pub(crate) fn check(
    record: &Record,
    wanted: &Wanted,
    id: Option<&UpgradeId>,
    seen: &Observation,
    policy: &Policy,
) -> Result<Target, Reason> {
    let target = resolve(wanted, seen, policy)?;
    check_default(seen)?;
    if runs(&target, seen) {
        return Ok(target);
    }
    check_opt_out(seen)?;
    allowed::check_policy(wanted, seen, policy)?;
    if let Some(commit) = &target.commit {
        memory::check(&record.bad, commit, id)?;
    }
    // The next trial would begin with what the last one has left, and its snapshot keep that.
    seen.machine.restored.clone()?;
    check_machine(seen)?;
    Ok(target)
}

/// What speaks against a trial on this machine. A request may wait for days between its acceptance
/// and the drain, and an image between two trials. So this is asked again before each.
pub(super) fn check_machine(seen: &Observation) -> Result<(), Reason> {
    seen.machine.loader.clone()?;
    // It would cost the node's users a drain and a reboot, and the image its good name.
    seen.machine.checks.clone()
}

/// A requester keeps the node out of what is not begun yet. The policy's own opt-out is among what
/// the policy refuses.
fn check_opt_out(seen: &Observation) -> Result<(), Reason> {
    match &seen.node.opted_out {
        None => Ok(()),
        Some(why) => Err(Reason::OptedOut {
            by: names::OPT_OUT.to_owned(),
            why: complaint(why),
        }),
    }
}

/// The image; of what is kept here the commit, once and for all.
fn resolve(wanted: &Wanted, seen: &Observation, policy: &Policy) -> Result<Target, Reason> {
    allowed::check_wanted(wanted, policy)?;
    match wanted {
        Wanted::Image(target) => Ok(target.clone()),
        Wanted::Kept => {
            let kept = seen.machine.kept().ok_or(Reason::NothingKept)?;
            Ok(Target::here(kept.digest.clone()))
        }
    }
}

/// Whether the image is the one that runs, as far as is known before it is fetched.
pub(crate) fn runs(target: &Target, seen: &Observation) -> bool {
    target.commit.as_ref() == Some(&seen.machine.booted.digest)
}

/// A trial falls back to the default, so that must be the system that runs; and one that runs
/// without being the default is gone with the next reboot, whatever it is.
fn check_default(seen: &Observation) -> Result<(), Reason> {
    if seen.machine.runs_default() {
        return Ok(());
    }
    Err(seen.machine.foreign_default())
}
