//! With nothing under way: taking a request, or refusing it before anything is touched.

use super::allowed::check_policy;
use super::{Act, System, disarm, facts, memory, old, uncounted};
use crate::container::{ContainerImage, Transport};
use crate::history::{self, Past};
use crate::id::UpgradeId;
use crate::names;
use crate::observe::{Api, Observation};
use crate::phase::Phase;
use crate::policy::{Policy, PolicyRead};
use crate::reason::{Reason, complaint};
use crate::record::{Record, Refused, Upgrade};
use crate::step::Step;
use crate::target::{Branch, RawRequest, Source, Target, Wanted};

/// What to do when no upgrade is under way.
pub(super) fn idle(next: &mut Record, seen: &Observation, policy: &PolicyRead) -> Act {
    if seen.on_trial() && !is_proven(next.upgrade.as_ref(), seen) {
        // A trial that no record knows: the old system is the default, so leaving is falling back.
        return uncounted::leave_trial(seen);
    }
    if let Some(first) = disarm(None, seen).or_else(|| lift(next.upgrade.as_ref(), seen)) {
        return first;
    }
    if let Some(first) = uncordoned_by_hand(next.upgrade.as_ref(), seen) {
        return first;
    }
    let open = next.unanswered(&seen.request);
    let Some(raw) = open.filter(|_| seen.paused.is_none()) else {
        return Act::Wait(None);
    };
    match accept(next, raw, seen, policy) {
        Ok((up, policy)) => release_halted(next.upgrade.as_ref(), seen)
            .unwrap_or_else(|| begin(next, up, seen, &policy)),
        Err(reason) => refuse(next, raw, reason, seen.wall),
    }
}

/// Whether the last upgrade leaves the running system as proven: it began in it, when that was the default, or ended well in it.
/// Somebody who then makes another system the default means the next reboot, not one now, under the node's pods.
fn is_proven(last: Option<&Upgrade>, seen: &Observation) -> bool {
    last.is_some_and(|up| match System::of(up, seen) {
        System::Old => true,
        System::New => up.phase == Phase::Upgraded,
        System::Other => false,
    })
}

/// A halted upgrade keeps its cordon for the person who looks at the node; who asks anew has looked. It goes before the next
/// one begins, which would see somebody else's cordon in it and leave it behind.
fn release_halted(former: Option<&Upgrade>, seen: &Observation) -> Option<Act> {
    let halted = |up: &&Upgrade| is_halted(up) && !up.released;
    let former = former.filter(halted)?;
    let first = old::pause(former, seen).or_else(|| old::post_hooks(former, seen));
    first.or(Some(match seen.api {
        Api::Reached { .. } => Act::Begin(Step::Release),
        Api::Away => Act::Wait(None),
    }))
}

/// Whoever uncordons a halted node has looked as well, and gives it back to its users: what else keeps it from them goes too. Else our mark would
/// stand there for months, and take a later cordon of somebody else's for ours.
fn uncordoned_by_hand(former: Option<&Upgrade>, seen: &Observation) -> Option<Act> {
    let uncordoned = |up: &&Upgrade| up.is_taken() && seen.uncordoned;
    release_halted(former.filter(uncordoned), seen)
}

/// What keeps the node from its users for an upgrade that is over and has given it back, its cordon or its word to load balancers: the API
/// server has carried out our write late, or was put back to how it was before. It goes before the next one begins, as a halted one's does. The
/// Node may be seen as it was before the release, so that is not done twice in a row.
fn lift(last: Option<&Upgrade>, seen: &Observation) -> Option<Act> {
    let over = |up: &&Upgrade| up.phase.is_end() && (up.released || !is_halted(up));
    last.filter(over)?;
    uncounted::lift(seen)
}

const fn is_halted(up: &Upgrade) -> bool {
    matches!(up.phase, Phase::Halted { .. })
}

fn begin(next: &mut Record, mut up: Upgrade, seen: &Observation, policy: &Policy) -> Act {
    next.refused = None;
    let act = if up.phase.is_end() {
        Act::Wait(None)
    } else {
        old::prepare(&mut up, seen, policy)
    };
    next.upgrade = Some(up);
    act
}

fn refuse(next: &mut Record, raw: &RawRequest, reason: Reason, wall: u64) -> Act {
    let id: Option<UpgradeId> = raw.id.as_deref().and_then(|id| id.parse().ok());
    next.tally.count_refused(&reason);
    history::remember(
        &mut next.past,
        Past::refused(raw, id.clone(), &reason, wall),
    );
    next.refused = Some(Refused { id, reason });
    next.spent = Some(raw.clone());
    next.answered = next.answered.saturating_add(1);
    Act::Wait(None)
}

fn accept(
    record: &Record,
    raw: &RawRequest,
    seen: &Observation,
    policy: &PolicyRead,
) -> Result<(Upgrade, Policy), Reason> {
    let policy = policy.clone()?;
    let request = raw.parse()?;
    let id = request.id.as_ref();
    let target = check(record, &request.wanted, id, seen, &policy)?;
    let id = match request.id {
        Some(id) => id,
        None => derived_id(record, seen)?,
    };
    Ok((upgrade(raw, id, &request.wanted, target, seen), policy))
}

/// What is wanted, with all that speaks against it before anything is touched. A plan is told the same.
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
    check_policy(wanted, seen, policy)?;
    if let Some(commit) = &target.commit {
        memory::check(&record.bad, commit, id)?;
    }
    if let Some(sign) = &seen.control_plane {
        return Err(Reason::ControlPlane { sign: sign.clone() });
    }
    // The next trial would begin with what the last one has left, and its snapshot keep that.
    seen.restored.clone()?;
    seen.loader.clone()?;
    // It would cost the node's users a drain and a reboot, and the image its good name.
    seen.checks.clone()?;
    Ok(target)
}

/// A requester keeps the node out of what is not begun yet. The policy's own opt-out is among what
/// the policy refuses.
fn check_opt_out(seen: &Observation) -> Result<(), Reason> {
    match &seen.opted_out {
        None => Ok(()),
        Some(why) => Err(Reason::OptedOut {
            by: names::OPT_OUT.to_owned(),
            why: complaint(why),
        }),
    }
}

/// The image; of what is kept here the commit, once and for all.
fn resolve(wanted: &Wanted, seen: &Observation, policy: &Policy) -> Result<Target, Reason> {
    check_wanted(wanted, policy)?;
    match wanted {
        Wanted::Image(target) => Ok(target.clone()),
        Wanted::Kept => {
            let kept = seen.kept().ok_or(Reason::NothingKept)?;
            Ok(Target::here(kept.digest.clone()))
        }
    }
}

/// Whether the policy lets this be asked for, as far as the request says.
pub(super) fn check_wanted(wanted: &Wanted, policy: &Policy) -> Result<(), Reason> {
    match wanted {
        Wanted::Image(target) => check_source(&target.source, policy),
        Wanted::Kept if policy.rollback => Ok(()),
        Wanted::Kept => Err(Reason::RollbackOff),
    }
}

/// Whether the image is the one that runs, as far as is known before it is fetched.
pub(crate) fn runs(target: &Target, seen: &Observation) -> bool {
    target.commit.as_ref() == Some(&seen.booted.digest)
}

fn check_source(source: &Source, policy: &Policy) -> Result<(), Reason> {
    match source {
        Source::Remote(branch) => check_branch(branch, policy),
        Source::Container(image) => check_place(image, policy),
    }
}

fn check_branch(branch: &Branch, policy: &Policy) -> Result<(), Reason> {
    let remotes = &policy.remotes;
    if !remotes.is_empty() && !remotes.contains(&branch.remote) {
        let remote = branch.remote.clone();
        return Err(not_listed(&remote, ("remotes", remotes), &remote));
    }
    if policy.allows_branch(&branch.reference) {
        return Ok(());
    }
    let found = format!("branch {:?}", branch.reference);
    Err(facts::not_allowed(found, policy))
}

/// A list that names nothing allows nothing: whoever may ask would choose where this node connects to, and from which folder it reads.
fn check_place(image: &ContainerImage, policy: &Policy) -> Result<(), Reason> {
    let (key, places, fit) = match image.transport {
        Transport::Registry => (
            "registry.allowed",
            &policy.registry.allowed,
            image.place.as_str(),
        ),
        Transport::Archive | Transport::Folder => (
            "registry.archives",
            &policy.registry.archives,
            image.folder(),
        ),
    };
    if places.iter().any(|place| image.is_below(place)) {
        return Ok(());
    }
    Err(not_listed(&image.address(), (key, places), fit))
}

/// What the policy says, and what it would have to say.
fn not_listed(remote: &str, (key, listed): (&str, &[String]), fit: &str) -> Reason {
    Reason::RemoteNotAllowed {
        remote: remote.to_owned(),
        allowed: format!("{key} = {listed:?} ({fit:?} in it would allow this one)"),
    }
}

/// A trial falls back to the default, so that must be the system that runs; and one that runs without being the default
/// is gone with the next reboot, whatever it is.
fn check_default(seen: &Observation) -> Result<(), Reason> {
    if seen.runs_default() {
        return Ok(());
    }
    Err(seen.foreign_default())
}

fn upgrade(
    raw: &RawRequest,
    id: UpgradeId,
    wanted: &Wanted,
    target: Target,
    seen: &Observation,
) -> Upgrade {
    let running = runs(&target, seen);
    let mut up = Upgrade::new(id, raw.clone(), target, seen.booted.clone());
    up.kept = *wanted == Wanted::Kept;
    up.phase = match (running, up.kept) {
        (true, _) => Phase::Upgraded,
        // It lies here as a deployment, which holds its commit.
        (false, true) => Phase::Fetched,
        (false, false) => Phase::Accepted,
    };
    up.from_version.clone_from(&seen.version);
    up
}

/// Unique on this node: the number of the request, and the system it found.
fn derived_id(record: &Record, seen: &Observation) -> Result<UpgradeId, Reason> {
    let number = record.answered.saturating_add(1);
    Ok(format!("r{number}-{}", seen.booted.digest.short()).parse()?)
}
