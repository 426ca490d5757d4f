//! What must hold before a node is asked: versions in order, and its turn.

use upgrade::Version;

use super::{ControlPlane, Facts, NodeFacts, Why};

/// A kubelet is never newer than the oldest API server it may talk to (Kubernetes' version skew policy).
///
/// # Errors
/// [`Why::AheadOfControlPlane`], or [`Why::ControlPlaneUnknown`]: what is not known is not judged.
pub fn skew(cluster: &str, wanted: &Version, control_plane: &ControlPlane) -> Result<(), Why> {
    let Some(oldest) = &control_plane.oldest else {
        return Err(Why::ControlPlaneUnknown {
            cluster: cluster.to_owned(),
        });
    };
    let minor = |version: &Version| (version.major(), version.minor());
    if minor(wanted) > minor(oldest) {
        return Err(Why::AheadOfControlPlane {
            wanted: wanted.clone(),
            control_plane: oldest.clone(),
        });
    }
    Ok(())
}

/// kubeadm goes one minor at a time on a control plane; a worker may skip some.
///
/// # Errors
/// [`Why::StepTooLarge`].
pub fn step(from: &Version, wanted: &Version, allowed: u32) -> Result<(), Why> {
    let far = wanted.major() != from.major() || wanted.minor() > from.minor() + allowed;
    if far && wanted > from {
        return Err(Why::StepTooLarge {
            from: from.clone(),
            wanted: wanted.clone(),
            allowed,
        });
    }
    Ok(())
}

/// Everything that must hold before a new request is written.
pub(super) fn may_ask(facts: &Facts<'_>, node: &NodeFacts, wanted: &Version) -> Result<(), Why> {
    if let Some(reason) = &node.paused {
        return Err(Why::NodePaused {
            node: node.name.clone(),
            reason: super::clean(reason),
        });
    }
    versions(facts, node, wanted)?;
    let Facts { turns, .. } = facts;
    if (turns.working)() >= turns.allowed {
        return Err(Why::NotItsTurn {
            group: turns.group.to_owned(),
            allowed: turns.allowed,
        });
    }
    Ok(())
}

fn versions(facts: &Facts<'_>, node: &NodeFacts, wanted: &Version) -> Result<(), Why> {
    let control_plane = facts.machine.control_plane || node.control_plane;
    let allowed = if control_plane {
        1
    } else {
        skew(&facts.machine.cluster, wanted, &facts.control_plane)?;
        facts.policy.worker_step
    };
    match node.kubelet.parse() {
        Ok(from) => step(&from, wanted, allowed),
        // A kubelet that was never there has no version to step from; the agent judges with what it runs.
        Err(_) => Ok(()),
    }
}
