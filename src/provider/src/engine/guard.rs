//! Preconditions of a request: the version order and the node's turn.

use requests::NodeFacts;
use upgrade::Version;

use super::answer::clean;
use super::facts::{ControlPlane, Facts, Others};
use super::kubelet::Kubelet;
use super::other::Other;
use super::why::Why;

/// How many minor versions a kubelet may be older than the API server (Kubernetes' version skew
/// policy).
const KUBELETS_BEHIND: u32 = 3;

/// A kubelet must not be newer than the oldest API server that it may talk to (Kubernetes' version
/// skew policy).
///
/// # Errors
/// [`Why::AheadOfControlPlane`], or [`Why::ControlPlaneUnknown`] if the version is not known.
pub fn skew(cluster: &str, wanted: &Version, control_plane: &ControlPlane) -> Result<(), Why> {
    let Some(oldest) = &control_plane.oldest else {
        return Err(Why::ControlPlaneUnknown {
            cluster: cluster.to_owned(),
        });
    };
    let minor = |version: &Version| (version.major(), version.minor());
    if minor(wanted) > minor(&oldest.version) {
        return Err(Why::AheadOfControlPlane {
            wanted: wanted.clone(),
            control_plane: Box::new(oldest.clone()),
        });
    }
    Ok(())
}

/// A control plane upgrade must not make the cluster's kubelets too old to be supported.
///
/// # Errors
/// [`Why::WorkersBehind`].
pub fn reach(wanted: &Version, oldest_kubelet: Option<&Kubelet>) -> Result<(), Why> {
    let too_old = |kubelet: &&Kubelet| {
        let oldest = &kubelet.version;
        oldest.major() != wanted.major()
            || wanted.minor() > oldest.minor().saturating_add(KUBELETS_BEHIND)
    };
    match oldest_kubelet.filter(too_old) {
        Some(kubelet) if *wanted > kubelet.version => Err(Why::WorkersBehind {
            wanted: wanted.clone(),
            oldest: Box::new(kubelet.clone()),
            allowed: KUBELETS_BEHIND,
        }),
        Some(_) | None => Ok(()),
    }
}

/// kubeadm upgrades a control plane by one minor version at a time. A worker may skip some.
///
/// # Errors
/// [`Why::StepTooLarge`].
pub fn step(from: &Version, wanted: &Version, allowed: u32) -> Result<(), Why> {
    let far =
        wanted.major() != from.major() || wanted.minor() > from.minor().saturating_add(allowed);
    if far && wanted > from {
        return Err(Why::StepTooLarge {
            from: from.clone(),
            wanted: wanted.clone(),
            allowed,
        });
    }
    Ok(())
}

/// Checks all preconditions of a new request.
pub(super) fn may_ask(facts: &Facts<'_>, node: &NodeFacts, wanted: &Version) -> Result<(), Why> {
    if facts.machine.left_out {
        return Err(Why::LeftOut);
    }
    if let Some(reason) = &node.paused {
        return Err(Why::NodePaused {
            node: node.name.clone(),
            reason: clean(reason),
        });
    }
    versions(facts, node, wanted)?;
    turn(facts, node)
}

/// A failed Machine counts as unavailable, because the next one would only try the same. Failed
/// Machines do not block each other; otherwise none could ever be retried.
fn turn(facts: &Facts<'_>, node: &NodeFacts) -> Result<(), Why> {
    let turns = facts.turns;
    let (group, allowed) = (turns.group.to_owned(), turns.allowed);
    if let Some(hurt) = (turns.hurt)() {
        return Err(Why::hurt(group, hurt));
    }
    let working = (turns.working)();
    if working.count >= allowed {
        return Err(match working.one {
            Some(Other { machine, node }) => Why::TurnKept {
                group,
                machine,
                node,
            },
            None => Why::NotItsTurn { group, allowed },
        });
    }
    let failed = if node.has_failed() {
        Others::default()
    } else {
        (turns.failed)()
    };
    if working.count + failed.count >= allowed {
        let machine = failed.one.map(|one| one.machine).unwrap_or_default();
        return Err(Why::OthersFailed {
            group,
            failed: failed.count,
            machine,
            allowed,
        });
    }
    Ok(())
}

fn versions(facts: &Facts<'_>, node: &NodeFacts, wanted: &Version) -> Result<(), Why> {
    let control_plane = facts.machine.control_plane || node.control_plane;
    let allowed = if control_plane {
        reach(wanted, (facts.oldest_kubelet)().as_ref())?;
        1
    } else {
        skew(&facts.machine.cluster, wanted, &facts.control_plane)?;
        facts.policy.worker_step
    };
    match node.kubelet.parse() {
        Ok(from) => step(&from, wanted, allowed),
        // A kubelet that never registered has no version to step from. The agent judges by what it
        // runs.
        Err(_) => Ok(()),
    }
}
