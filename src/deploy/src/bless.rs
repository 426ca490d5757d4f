//! Makes the tried deployment the default: one swap of the boot menu, with the old one second and
//! pinned. The same swap removes the trial's kernel arguments from the boot entry, so that no later
//! boot is a trial.

use ostree_ext::ostree;
use upgrade::Reason;
use upgrade::deploy::Done;
use upgrade::id::Digest;

use crate::args::Bless;
use crate::deploy::{arguments, marks, origin, write};
use crate::lock;
use crate::site::{Site, same};

/// Blesses. A second call does nothing.
///
/// # Errors
/// No deployment has the commit, it is no longer what was judged, or libostree cannot write.
pub fn run(site: &Site, wanted: &Bless) -> Result<Done, Reason> {
    let _held = lock::acquire(site)?;
    let target = target(site, &wanted.commit)?;
    let all = site.deployments();
    if let Some(over) = &wanted.over {
        check(site, &target, all.first(), over)?;
    }
    let others: Vec<_> = all
        .iter()
        .filter(|other| !same(other, &target))
        .cloned()
        .collect();
    let old = others
        .iter()
        .find(|other| other.osname() == target.osname())
        .cloned();
    site.report.progress(20, "pinning the old deployment");
    keep_only(site, &all, &target, old.as_ref())?;
    let is_default = all.first().is_some_and(|default| same(default, &target));
    let proven = arguments::proven(&target);
    if !is_default || proven.is_some() {
        let first = proven.unwrap_or(target);
        let order: Vec<_> = std::iter::once(first).chain(others).collect();
        site.report
            .progress(50, "making the new deployment the default");
        write::swap(site, &order)?;
    }
    write::settle(site)?;
    Ok(Done::Blessed)
}

/// Checks that the running system is the judged one, and that the default is the one to fall back
/// to. While careen-deploy waited for the lock, somebody may have made another system the default,
/// which it must not displace. The lock keeps the state until the swap is done.
fn check(
    site: &Site,
    target: &ostree::Deployment,
    default: Option<&ostree::Deployment>,
    over: &str,
) -> Result<(), Reason> {
    let booted = site.sysroot.booted_deployment();
    if let Some(other) = booted.filter(|booted| !same(booted, target)) {
        let booted = site.facts(&other)?.digest.short().to_owned();
        return Err(Reason::UnknownSystem { booted });
    }
    let named = |one: &ostree::Deployment| format!("{}.{}", one.csum(), one.deployserial());
    // The target itself: an agent that was killed after the swap asks again. Without Careen's mark,
    // somebody else made the swap.
    let is_ours = |default| {
        same(default, target) && origin::is_being_blessed(target) || named(default) == over
    };
    if default.is_some_and(is_ours) {
        return Ok(());
    }
    let facts = default.map(|default| site.facts(default)).transpose()?;
    Err(Reason::ForeignDefault {
        default: facts.map_or_else(
            || "none".to_owned(),
            |facts| facts.digest.short().to_owned(),
        ),
    })
}

/// The running deployment if it has this commit (it passed the trial), otherwise the newest.
fn target(site: &Site, commit: &Digest) -> Result<ostree::Deployment, Reason> {
    let booted = site
        .sysroot
        .booted_deployment()
        .filter(|booted| booted.csum() == commit.as_str());
    let newest = || {
        site.deployments_of(commit)
            .into_iter()
            .max_by_key(|deployment| deployment.deployserial())
    };
    booted
        .or_else(newest)
        .ok_or_else(|| Reason::TargetVanished {
            commit: commit.to_string(),
        })
}

/// The pin protects the one system to fall back to from any clean-up. Older ones lose their pin,
/// and the target gets Careen's mark. Other stateroots, and systems that an administrator pinned
/// and Careen did not make, stay as they are.
fn keep_only(
    site: &Site,
    all: &[ostree::Deployment],
    target: &ostree::Deployment,
    kept: Option<&ostree::Deployment>,
) -> Result<(), Reason> {
    let stateroot = target.osname();
    for deployment in all.iter().filter(|one| one.osname() == stateroot) {
        let written = match kept {
            _ if same(target, deployment) => marks::begin_blessing(site, deployment),
            Some(kept) if same(kept, deployment) => marks::keep(site, deployment),
            _ => marks::let_go(site, deployment),
        };
        written.map_err(|error| site.failed(&error))?;
    }
    Ok(())
}
