//! Control planes: whether one runs here, and whether its deployments share one /etc/kubernetes.

use host::control_plane::{is_here, sign};
use upgrade::{Deployment, Policy, names};

use super::finding::Finding;
use super::patient::Patient;
use crate::control_plane;

/// Whether the policy lets this node be upgraded. A worker needs no leave.
pub(super) fn worker(patient: &Patient, policy: &Policy) -> Finding {
    const NAME: &str = "worker";
    let Some(sign) = sign(&patient.places) else {
        return Finding::ok(NAME, "no control plane runs here");
    };
    let seen = format!("a control plane: {} exists", sign.display());
    if policy.control_plane.enabled {
        return Finding::ok(NAME, format!("{seen}; the policy lets it upgrade"));
    }
    Finding::bad(
        NAME,
        seen,
        "read /usr/share/doc/careen/control-planes.md, then set enabled = true in [control-plane] of the policy",
    )
}

/// Whether all deployments share the folder. Nothing on a worker.
pub(super) fn folder(patient: &Patient, booted: Option<&Deployment>) -> Option<Finding> {
    const NAME: &str = "kubernetes";
    let booted = booted.filter(|_| is_here(&patient.places))?;
    Some(match control_plane::shared(&patient.places, booted) {
        Ok(()) => Finding::ok(
            NAME,
            format!("all deployments share {}", names::SHARED_KUBERNETES),
        ),
        Err(detail) => Finding::bad(
            NAME,
            detail,
            "run careen-agent doctor --fix: a system that falls back would start older manifests",
        ),
    })
}
