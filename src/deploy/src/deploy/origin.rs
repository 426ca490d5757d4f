//! What the origin file of a deployment says in Careen's own group. [`super::marks`] writes it.

use ostree_ext::ostree;
use upgrade::names;

/// Careen's group. libostree keeps groups that it does not know.
pub(super) const GROUP: &str = names::ORIGIN_GROUP;
/// The fingerprint of the /etc that was merged.
pub(super) const ETC: &str = "etc";
/// The kernel arguments that a trial needs and the deployment's own would not have.
pub(super) const ADDED: &str = "trial-arguments";
/// Set if the pin is Careen's.
pub(super) const PINNED: (&str, &str) = (GROUP, names::ORIGIN_PINNED);
/// Set from before the swap by which a blessing makes it the default.
pub(super) const BLESSING: (&str, &str) = (GROUP, names::ORIGIN_BLESSING);
/// Set if the last blessing keeps it.
pub(super) const KEPT: (&str, &str) = (GROUP, names::ORIGIN_KEPT);
/// Where libostree keeps the pin itself (ostree-sysroot-deploy.c,
/// `ostree_sysroot_deployment_set_pinned`).
pub(super) const LIBOSTREE: (&str, &str) = ("libostree-transient", "pinned");

/// The fingerprint of the /etc that the deployment was made with, if Careen made it.
pub fn fingerprint(deployment: &ostree::Deployment) -> Option<String> {
    value(deployment, ETC)
}

/// The kernel arguments that were added for its trial.
pub fn added_arguments(deployment: &ostree::Deployment) -> Vec<String> {
    let text = value(deployment, ADDED).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

fn value(deployment: &ostree::Deployment, key: &str) -> Option<String> {
    let text = deployment.origin()?.string(GROUP, key).ok()?;
    Some(text.to_string())
}

/// Whether `deploy` made it, so that `undo` may remove it.
pub fn is_ours(deployment: &ostree::Deployment) -> bool {
    fingerprint(deployment).is_some()
}

/// Whether somebody else wants it kept: a foreign pin on a foreign deployment. Careen's own
/// deployments have no such protection, because otherwise every upgrade could leave a system.
pub fn is_kept_by_others(deployment: &ostree::Deployment) -> bool {
    deployment.is_pinned()
        && !is_ours(deployment)
        && value(deployment, names::ORIGIN_PINNED).is_none()
}

/// Whether Careen keeps it: pinned, with Careen's mark.
pub fn is_kept(deployment: &ostree::Deployment) -> bool {
    deployment.is_pinned() && (says(deployment, PINNED) || says(deployment, KEPT))
}

/// Whether a blessing has begun to make it the default.
pub fn is_being_blessed(deployment: &ostree::Deployment) -> bool {
    says(deployment, BLESSING)
}

pub(super) fn says(deployment: &ostree::Deployment, (group, key): (&str, &str)) -> bool {
    let origin = deployment.origin().unwrap_or_default();
    origin.boolean(group, key).is_ok_and(|set| set)
}
