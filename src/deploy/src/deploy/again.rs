//! Whether there is anything left to do: a deploy that is asked for twice is done once.

use ostree_ext::ostree;

use super::{arguments, origin};
use crate::args::Deploy;
use crate::site::{Site, same};

/// The deployment that is there already, made with /etc as it is now and for the generator in use. The running one and the default are never
/// it: what is asked for is a deployment to be tried.
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

/// Earlier deployments of the commit by us, which a new one replaces.
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
