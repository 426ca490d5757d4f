//! What the policy refuses: asked when a request is taken, and again before each step up to the
//! reboot into the trial. An operator who makes the policy stricter means what is under way too, so
//! both ask the same functions.

use super::facts;
use super::situation::Situation;
use crate::container::{ContainerImage, Transport};
use crate::observe::Observation;
use crate::policy::{LocalChanges, Policy};
use crate::reason::{Reason, complaint};
use crate::record::Upgrade;
use crate::target::{Branch, Source, Wanted};

/// What the policy says against a request, before anything of its image is known.
pub(super) fn check_policy(
    wanted: &Wanted,
    seen: &Observation,
    policy: &Policy,
) -> Result<(), Reason> {
    check_wanted(wanted, policy)?;
    check_opt_out(policy)?;
    check_control_plane(seen, policy)?;
    if policy.require_watchdog {
        seen.machine.watchdog.clone()?;
    }
    check_local_changes(seen, policy)
}

/// A control plane whose deployments each have an /etc/kubernetes would fall back to older
/// manifests on newer data.
fn check_control_plane(seen: &Observation, policy: &Policy) -> Result<(), Reason> {
    match &seen.machine.control_plane {
        None => Ok(()),
        Some(found) if policy.control_plane.enabled => found.shared.clone(),
        Some(found) => {
            let sign = found.sign.clone();
            Err(Reason::ControlPlane { sign })
        }
    }
}

/// A node that has joined the control plane since the request was taken has no lock and no
/// snapshot.
fn check_still_a_worker(up: &Upgrade, seen: &Observation) -> Result<(), Reason> {
    match (&up.control, &seen.machine.control_plane) {
        (None, Some(found)) => Err(Reason::ControlPlane {
            sign: found.sign.clone(),
        }),
        (Some(_), _) | (None, None) => Ok(()),
    }
}

/// The new system would not have them, and nobody would be told.
fn check_local_changes(seen: &Observation, policy: &Policy) -> Result<(), Reason> {
    let changes = &seen.machine.local_changes;
    match policy.local_changes {
        LocalChanges::Refuse if !changes.is_empty() => {
            let detail = complaint(&changes.join("; "));
            Err(Reason::LocalChanges { detail })
        }
        LocalChanges::Refuse | LocalChanges::Drop => Ok(()),
    }
}

/// What the policy that is in force now says against an upgrade under way, by all that is known of
/// its image.
pub(super) fn check_again(up: &Upgrade, s: &Situation<'_>) -> Result<(), Reason> {
    check_still_a_worker(up, s.seen)?;
    check_policy(&up.wanted(), s.seen, s.policy)?;
    if let Some(found) = &up.facts {
        facts::judge(found, &up.into(), s.seen, s.policy)?;
    }
    s.skew(up).unwrap_or(Ok(()))
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

/// Whether the policy lets this be asked for, as far as the request says.
pub(super) fn check_wanted(wanted: &Wanted, policy: &Policy) -> Result<(), Reason> {
    match wanted {
        Wanted::Image(target) => check_source(&target.source, policy),
        Wanted::Kept if policy.rollback => Ok(()),
        Wanted::Kept => Err(Reason::RollbackOff),
    }
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

/// A list that names nothing allows nothing. Otherwise a requester would choose where this node
/// connects to, and from which folder it reads.
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
