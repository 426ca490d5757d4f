//! What shows that this node runs a control plane, and whether its deployments share one
//! /etc/kubernetes.

use std::path::PathBuf;

use host::Places;
use host::kubernetes::{self, Kept};
use upgrade::{ControlPlaneSeen, Deployment, Reason, names};

/// What is seen; nothing on a worker.
#[must_use]
pub fn seen(places: &Places, booted: &Deployment) -> Option<ControlPlaneSeen> {
    is_here(places).then(|| ControlPlaneSeen {
        sign: manifest(places).display().to_string(),
        shared: shared(places, booted).map_err(|detail| Reason::KubernetesNotShared { detail }),
    })
}

/// Whether this node runs a control plane.
#[must_use]
pub fn is_here(places: &Places) -> bool {
    manifest(places).exists()
}

fn manifest(places: &Places) -> PathBuf {
    let manifest = names::API_SERVER_MANIFEST.trim_start_matches('/');
    places.root.join(manifest)
}

/// Whether all deployments share the folder. The error says how it is instead.
///
/// # Errors
/// They do not share it, or it cannot be read.
pub fn shared(places: &Places, booted: &Deployment) -> Result<(), String> {
    match kubernetes::kept(places, booted) {
        Ok(Kept::Shared { below }) if below.is_empty() => Ok(()),
        Ok(Kept::Shared { below }) => Err(format!(
            "{} is mounted, and the deployment's own folder below it still has {}",
            names::SHARED_KUBERNETES,
            upgrade::reason::few(&below)
        )),
        Ok(Kept::Own) => Err(format!("{} is in the deployment", names::KUBERNETES)),
        Ok(Kept::Foreign) => Err(format!(
            "{} is mounted from another place than {}",
            names::KUBERNETES,
            names::SHARED_KUBERNETES
        )),
        Err(error) => Err(error.to_string()),
    }
}
