//! The kernel arguments of a deployment on trial, and of one that has passed.
//!
//! Some loaders add the trial's arguments to the entry that a one-shot has chosen. For the others,
//! the arguments are in the boot entry, from the deployment to the blessing. The origin says which
//! were added, so that an administrator's own `panic=` stays.

use host::Places;
use host::loader::{Loader, trial_arguments};
use ostree_ext::ostree;
use upgrade::names;

use super::origin;
use crate::process;
use crate::site::Site;

/// Arguments that say which deployment boots. libostree writes them again.
const PLACE_ARGUMENTS: [&str; 2] = ["ostree=", "BOOT_IMAGE="];
/// Careen's own arguments, which only a trial has.
const OUR_ARGUMENTS: &str = "careen.";

/// Whether the boot entry itself must carry the trial's arguments.
pub fn are_in_the_entry(site: &Site) -> bool {
    let places = Places::physical(&site.path);
    Loader::of_the_next_menu(&places, process::generator_is_ours())
        .is_some_and(Loader::has_trial_in_the_entry)
}

/// The current deployment's arguments, without those that name a deployment, and without those of a
/// trial.
pub fn inherited(current: &ostree::Deployment) -> Vec<String> {
    let dropped = added(current);
    let stays = |argument: &String| {
        !PLACE_ARGUMENTS
            .iter()
            .any(|prefix| argument.starts_with(prefix))
            && !argument.starts_with(OUR_ARGUMENTS)
            && !dropped.contains(argument)
    };
    options(current).into_iter().filter(stays).collect()
}

/// What the new deployment's entry needs in addition, to be a trial.
pub fn to_add(site: &Site, inherited: &[String]) -> Vec<String> {
    if !are_in_the_entry(site) {
        return Vec::new();
    }
    trial_arguments(&Places::physical(&site.path))
        .split_ascii_whitespace()
        .map(str::to_owned)
        .filter(|argument| !inherited.contains(argument))
        .collect()
}

/// A copy of the deployment whose boot is no trial, or `None` if it already is none.
pub fn proven(target: &ostree::Deployment) -> Option<ostree::Deployment> {
    let mut going = added(target);
    if !carries_the_trial(target) {
        return None;
    }
    going.push(names::TRIAL_ARGUMENT.to_owned());
    let staying: Vec<_> = options(target)
        .into_iter()
        .filter(|argument| !going.contains(argument))
        .collect();
    // libostree compares the entries on disk with the given ones, so the original must not change.
    let copy = target.clone();
    copy.bootconfig()?.set("options", &staying.join(" "));
    Some(copy)
}

/// What `deploy` added and no blessing has removed yet.
fn added(deployment: &ostree::Deployment) -> Vec<String> {
    if carries_the_trial(deployment) {
        origin::added_arguments(deployment)
    } else {
        Vec::new()
    }
}

fn carries_the_trial(deployment: &ostree::Deployment) -> bool {
    options(deployment)
        .iter()
        .any(|argument| argument == names::TRIAL_ARGUMENT)
}

fn options(deployment: &ostree::Deployment) -> Vec<String> {
    let options = deployment
        .bootconfig()
        .and_then(|entry| entry.get("options"))
        .unwrap_or_default();
    options.split_whitespace().map(str::to_owned).collect()
}
