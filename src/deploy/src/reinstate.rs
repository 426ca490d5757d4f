//! Makes the old system the default again, if somebody else made the system on trial the default.
//! The new system, which has failed, does this in one swap.

use ostree_ext::ostree;
use upgrade::Reason;
use upgrade::deploy::Done;

use crate::args::Reinstate;
use crate::deploy::write;
use crate::lock;
use crate::site::{Site, same};

/// Reinstates. A second call does nothing.
///
/// # Errors
/// The old system does not exist, the default is not the one on trial, or libostree cannot write.
pub fn run(site: &Site, wanted: &Reinstate) -> Result<Done, Reason> {
    let _held = lock::acquire(site)?;
    let all = site.deployments();
    let named = |name: &str| all.iter().find(|one| name_of(one) == name);
    let old = named(&wanted.deployment).ok_or_else(|| Reason::TargetVanished {
        commit: wanted.deployment.clone(),
    })?;
    if !all.first().is_some_and(|default| same(default, old)) {
        let over =
            named(&wanted.over).filter(|over| all.first().is_some_and(|one| same(one, over)));
        let over = over.ok_or_else(|| foreign(all.first()))?;
        site.report
            .progress(20, "making the old system the default again");
        write::swap(site, &order(&all, old, over))?;
    }
    write::settle(site)?;
    Ok(Done::Reinstated)
}

/// The order as it was before: the old one first, the one on trial last.
fn order(
    all: &[ostree::Deployment],
    old: &ostree::Deployment,
    over: &ostree::Deployment,
) -> Vec<ostree::Deployment> {
    let between = all.iter().filter(|one| !same(one, old) && !same(one, over));
    let order = std::iter::once(old).chain(between).chain([over]);
    order.cloned().collect()
}

fn foreign(default: Option<&ostree::Deployment>) -> Reason {
    let default = default.map_or_else(|| "none".to_owned(), name_of);
    Reason::ForeignDefault { default }
}

fn name_of(one: &ostree::Deployment) -> String {
    format!("{}.{}", one.csum(), one.deployserial())
}
