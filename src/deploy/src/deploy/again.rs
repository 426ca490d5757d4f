//! Whether anything is left to do: a deployment that is requested twice is made once.

use ostree_ext::ostree;

use super::{arguments, origin};
use crate::args::Deploy;
use crate::site::{Site, same};

/// The existing deployment, made with the current /etc and for the generator in use. It is never
/// the running one or the default, because the request is for a deployment to try.
pub fn up_to_date(site: &Site, wanted: &Deploy, fingerprint: &str) -> Option<ostree::Deployment> {
    if wanted.again {
        return None;
    }
    let mut candidates = replaceable(site, wanted).into_iter();
    let in_the_entry = arguments::are_in_the_entry(site);
    candidates.find(|there| {
        origin::fingerprint(there).as_deref() == Some(fingerprint)
            && origin::added_arguments(there).is_empty() != in_the_entry
    })
}

/// Careen's earlier deployments of the commit, which a new one replaces.
pub fn replaceable(site: &Site, wanted: &Deploy) -> Vec<ostree::Deployment> {
    let default = site.deployments().into_iter().next();
    let current = site.current();
    let used = |deployment: &ostree::Deployment| {
        [&default, &current]
            .into_iter()
            .flatten()
            .any(|other| same(other, deployment))
            || deployment.is_pinned()
    };
    let there = site.deployments_of(&wanted.commit).into_iter();
    there
        .filter(|deployment| origin::is_ours(deployment) && !used(deployment))
        .collect()
}
