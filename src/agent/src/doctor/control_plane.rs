//! Control planes: whether one runs here, and whether its deployments share one /etc/kubernetes.

use upgrade::{Deployment, names};

use super::finding::Finding;
use super::patient::Patient;
use crate::control_plane;

/// Only workers are supported so far.
pub(super) fn worker(patient: &Patient) -> Finding {
    const NAME: &str = "worker";
    if runs_here(patient) {
        let seen = format!("a control plane: {} exists", names::API_SERVER_MANIFEST);
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
    let booted = booted.filter(|_| runs_here(patient))?;
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

fn runs_here(patient: &Patient) -> bool {
    let manifest = names::API_SERVER_MANIFEST.trim_start_matches('/');
    patient.places.root.join(manifest).exists()
}
