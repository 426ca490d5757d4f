//! What a survey means for an upgrade, as sentences.
//!
//! Each finding has a code, a class, and one text of the form `what: detail. Action.` Decisions
//! depend on code and class, never on the text.

mod code;
mod etcd;
mod finding;
mod kubeadm;
mod node;

pub use code::{Class, Code};
pub use finding::Finding;

use super::survey::Survey;

/// All findings, the worst first.
#[must_use]
pub fn findings(survey: &Survey) -> Vec<Finding> {
    let mut all = node::unseen(survey);
    all.extend(node::lock(survey));
    all.extend(kubeadm::verb(survey));
    all.extend(kubeadm::drift(survey));
    all.extend(kubeadm::images(survey));
    all.extend(kubeadm::others(survey));
    all.extend(etcd::quorum(survey));
    all.extend(etcd::sick(survey));
    all.extend(etcd::alarms(survey));
    all.extend(etcd::step(survey));
    all.extend(etcd::elsewhere(survey));
    all.extend(node::alone(survey));
    all.extend(node::certificates(survey));
    all.extend(node::room(survey));
    all.extend(node::manifests(survey));
    // The sort is stable, so that findings of one class keep their order.
    all.sort_by_key(|finding| finding.class);
    all
}

#[cfg(test)]
mod tests;
