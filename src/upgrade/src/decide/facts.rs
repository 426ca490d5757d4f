//! Whether a fetched image may run here: the judgement on what `careen-deploy verify` found.

use crate::image::{ImageFacts, ImageInfo, Room};
use crate::observe::Observation;
use crate::policy::{BranchChange, Policy};
use crate::reason::Reason;
use crate::record::Upgrade;
use crate::version::Version;

/// Whom the image is for.
pub(crate) struct For<'a> {
    /// The version that it must carry.
    pub kubernetes: Option<Version>,
    /// The version that runs.
    pub from: Option<&'a Version>,
    /// It is what this node has kept.
    pub kept: bool,
}

impl<'a> From<&'a Upgrade> for For<'a> {
    fn from(up: &'a Upgrade) -> Self {
        // It parsed when the request was taken; a request that no longer does asks for no version.
        let kubernetes = up.request.kubernetes.as_deref();
        Self {
            kubernetes: kubernetes.and_then(|text| text.parse().ok()),
            from: up.from_version.as_ref(),
            kept: up.kept,
        }
    }
}

/// The first thing that speaks against the image.
pub(crate) fn judge(
    facts: &ImageFacts,
    whom: &For<'_>,
    seen: &Observation,
    policy: &Policy,
) -> Result<(), Reason> {
    let commit = || facts.commit.short().to_owned();
    let Some(info) = &facts.info else {
        return Err(Reason::NoImageInfo {
            commit: commit(),
            detail: "it is missing".to_owned(),
        });
    };
    if info.architecture != seen.machine.architecture {
        let (image, machine) = (info.architecture.clone(), seen.machine.architecture.clone());
        return Err(Reason::WrongArchitecture {
            commit: commit(),
            image,
            machine,
        });
    }
    branch(facts, whom, policy)?;
    trial(facts, info, policy)?;
    control(facts, info, seen)?;
    versions(info, whom, policy)?;
    age(facts, whom, seen, policy)?;
    room("the root file system", facts.root)?;
    room("/boot", facts.boot)
}

/// A system that knows no control plane would judge this node as a worker, and leave the lock.
fn control(facts: &ImageFacts, info: &ImageInfo, seen: &Observation) -> Result<(), Reason> {
    if seen.machine.control_plane.is_none() || info.carries_control() {
        return Ok(());
    }
    let commit = facts.commit.short().to_owned();
    Err(Reason::ControlNotCarried { commit })
}

/// Being on one allowed branch is enough for a commit of several. The kept system is held to what
/// its commit says alone: it was let in before, and may be of a build that says nothing.
fn branch(facts: &ImageFacts, whom: &For<'_>, policy: &Policy) -> Result<(), Reason> {
    let unsaid = facts.branches.is_empty();
    let mut branches = facts.branches.iter();
    let allowed = branches.any(|branch| policy.allows_branch(branch));
    if policy.branches.is_empty() || allowed || unsaid && whom.kept {
        return Ok(());
    }
    let commit = facts.commit.short();
    Err(not_allowed(
        if unsaid {
            format!("commit {commit}, which does not name a branch (ostree.ref-binding)")
        } else {
            format!("commit {commit} of {:?}", facts.branches)
        },
        policy,
    ))
}

/// The policy lets no image of this branch be used.
pub(crate) fn not_allowed(found: String, policy: &Policy) -> Reason {
    Reason::BranchNotAllowed {
        found,
        allowed: format!("branches = {:?}", policy.branches),
    }
}

/// What the trial needs of it: to boot, and to be guarded, judged and ended. Without the guard a
/// person may do; without the others nobody gives the node back.
fn trial(facts: &ImageFacts, info: &ImageInfo, policy: &Policy) -> Result<(), Reason> {
    let commit = facts.commit.short().to_owned();
    if facts.kernel.is_none() {
        return Err(Reason::NoKernel { commit });
    }
    if !info.is_guarded() && !policy.unguarded {
        let found = info.stage;
        return Err(Reason::NoStage { commit, found });
    }
    if !facts.lacks.is_empty() {
        let lacks = facts.lacks.join(", ");
        return Err(Reason::NoAgent { commit, lacks });
    }
    Ok(())
}

/// Whether the image that runs carries the version that was asked for with it. A running image that
/// states no version is not compared.
pub(crate) fn carries(wanted: Option<&Version>, running: Option<&Version>) -> Result<(), Reason> {
    match (wanted, running) {
        (Some(wanted), Some(carried)) if wanted != carried => Err(Reason::VersionMismatch {
            wanted: wanted.clone(),
            carried: carried.clone(),
        }),
        (Some(_) | None, Some(_) | None) => Ok(()),
    }
}

fn versions(info: &ImageInfo, whom: &For<'_>, policy: &Policy) -> Result<(), Reason> {
    let carried = info.kubernetes.clone();
    carries(whom.kubernetes.as_ref(), Some(&carried))?;
    match whom.from {
        // Who asks for what this node ran before asks for its version.
        Some(from) if carried.is_older_than(from) && !policy.downgrade && !whom.kept => {
            Err(Reason::Downgrade {
                from: from.clone(),
                to: carried,
            })
        }
        Some(_) | None => Ok(()),
    }
}

/// A signature does not expire: an old image, with vulnerabilities that were fixed since, still has
/// a valid one. On another branch an image may be older for a good reason, so the policy has a key
/// of its own for that.
fn age(
    facts: &ImageFacts,
    whom: &For<'_>,
    seen: &Observation,
    policy: &Policy,
) -> Result<(), Reason> {
    let older_by = facts.older_by();
    if whom.kept {
        return Ok(());
    }
    if facts.changes_branch() {
        return branch_change(facts, older_by, policy);
    }
    match older_by {
        Some(seconds) if !policy.downgrade => Err(Reason::OlderImage {
            commit: facts.commit.short().to_owned(),
            running: seen.machine.booted.digest.short().to_owned(),
            seconds,
        }),
        Some(_) | None => Ok(()),
    }
}

fn branch_change(facts: &ImageFacts, older_by: Option<u64>, policy: &Policy) -> Result<(), Reason> {
    let is_allowed = match policy.branch_change {
        BranchChange::Any => true,
        BranchChange::Newer => older_by.is_none(),
        BranchChange::Never => false,
    };
    if is_allowed {
        return Ok(());
    }
    Err(Reason::BranchChange {
        commit: facts.commit.short().to_owned(),
        branch: facts.branches.join(", "),
        running: facts.running_branches.join(", "),
        policy: policy.branch_change.as_str().to_owned(),
        seconds: older_by,
    })
}

fn room(place: &str, room: Room) -> Result<(), Reason> {
    if room.fits() {
        return Ok(());
    }
    Err(Reason::NoRoom {
        place: place.to_owned(),
        need: room.need,
        free: room.free,
        inodes: false,
    })
}
