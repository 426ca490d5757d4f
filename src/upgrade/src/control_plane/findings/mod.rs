//! What a survey means for an upgrade, as sentences.
//!
//! Each finding has a code, a class, and one text of the form `what: detail. Action.` Decisions
//! depend on code and class, never on the text.

mod code;
mod etcd;
mod kubeadm;
mod node;

use serde::Serialize;

pub use code::{Class, Code};

use super::survey::Survey;

/// One thing that an operator should know before an upgrade of this control plane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which one; the name of its section in the docs.
    pub code: Code,
    /// What it means for an upgrade.
    pub class: Class,
    /// What is found, and what to do.
    pub says: String,
}

impl Finding {
    fn new(code: Code, class: Class, says: String) -> Self {
        Self { code, class, says }
    }

    fn refuse(code: Code, says: String) -> Self {
        Self::new(code, Class::Refuse, says)
    }

    fn wait(code: Code, says: String) -> Self {
        Self::new(code, Class::Wait, says)
    }

    fn warn(code: Code, says: String) -> Self {
        Self::new(code, Class::Warn, says)
    }
}

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
    all.extend(node::certificates(survey));
    all.extend(node::room(survey));
    all.extend(node::manifests(survey));
    // The sort is stable, so that findings of one class keep their order.
    all.sort_by_key(|finding| finding.class);
    all
}

/// Names for a sentence.
fn listed<T: ToString>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    crate::reason::few(&names)
}

#[cfg(test)]
mod tests;
