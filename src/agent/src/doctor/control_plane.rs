//! Control planes: whether one runs here, and whether its deployments share one /etc/kubernetes.

use host::control_plane::{is_here, sign};
use upgrade::{Deployment, names};

use super::finding::Finding;
use super::patient::Patient;
use crate::control_plane;

/// Only workers are supported so far.
pub(super) fn worker(patient: &Patient) -> Finding {
    const NAME: &str = "worker";
    if let Some(sign) = sign(&patient.places) {
        let seen = format!("a control plane: {} exists", sign.display());
        return Finding::bad(
            NAME,
            seen,
            "upgrade this node another way: this version upgrades only workers in place",
        );
    }
    Finding::ok(NAME, "no control plane runs here")
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
