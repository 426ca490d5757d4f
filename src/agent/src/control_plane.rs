//! What shows that this node runs a control plane, and whether its deployments share one
//! /etc/kubernetes.

use host::kubernetes::{self, Kept};
use host::{Places, control_plane};
use upgrade::{ControlPlaneSeen, Deployment, Reason, names};

/// What is seen; nothing on a worker.
#[must_use]
pub fn seen(places: &Places, booted: &Deployment) -> Option<ControlPlaneSeen> {
    control_plane::sign(places).map(|sign| ControlPlaneSeen {
        sign: sign.display().to_string(),
        shared: shared(places, booted).map_err(|detail| Reason::KubernetesNotShared { detail }),
    })
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
