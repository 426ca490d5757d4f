//! When `kubeadm upgrade node` is owed to a system that is the default already.

use super::Act;
use crate::observe::{Api, Observation};
use crate::record::Upgrade;
use crate::step::Step;

/// It has written the new kubelet's configuration, in this boot.
pub(super) fn configured(up: &mut Upgrade, seen: &Observation) {
    (up.kubeadm_due, up.configured) = (false, Some(seen.boot.clone()));
}

/// It is run as soon as the API server is there. No sooner can the node be given back.
pub(super) fn late(up: &mut Upgrade, seen: &Observation) -> Option<Act> {
    let reached = matches!(seen.api, Api::Reached { .. });
    if !(reached && is_owed(up, seen)) {
        return None;
    }
    // Its unit looks for that in the record.
    up.kubeadm_due = true;
    Some(Act::Begin(Step::Kubeadm))
}

/// Whether it has not run, or what it wrote may be gone. The old system has its kubelet's state put back whenever it boots behind a trial: between the blessing and
/// this boot the power may have brought it up once more, for the loader replays no journal, or a person at the menu.
pub(super) fn is_owed(up: &Upgrade, seen: &Observation) -> bool {
    up.kubeadm_due || up.configured.as_ref() != Some(&seen.boot)
}
