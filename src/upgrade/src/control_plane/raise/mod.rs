//! Raising the control plane of one node: what is decided before and after kubeadm runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::component::Component;
use super::etcd::EtcdTag;
use super::expiry::Certificate;
use super::repair::{Kept, Live, Pages};
use super::text::{Detail, Name};
use super::verb::Verb;
use crate::id::UpgradeId;
use crate::version::Version;

/// A certificate of etcd with less time than this is renewed, although that restarts etcd.
/// kubeadm's certificates are valid for a year.
pub const RENEWAL: u64 = 180 * 24 * 3600;

/// The verbs of `kubeadm upgrade` that change a control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Run {
    /// `kubeadm upgrade apply`.
    Apply,
    /// `kubeadm upgrade node`.
    Node,
}

/// The ledger's note: what is raised, and how far that is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// The version that kubeadm raises to.
    pub to: Version,
    /// How kubeadm runs.
    pub run: Run,
    /// Whether kubeadm may change etcd.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub etcd: bool,
    /// When it began, in seconds since 1970.
    pub at: u64,
    /// Whether it is over.
    pub state: State,
}

/// How far a raise is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// kubeadm may have changed anything.
    Raising,
    /// All is at the new version, or another raise has begun since.
    Over,
}

/// What to run for this verb. `under_way` is how a raise to the same version runs that was cut: it
/// may have changed all manifests, but not yet what kubeadm writes after them.
///
/// # Errors
/// The verb, if it is none of kubeadm's.
pub const fn run(verb: Verb, under_way: Option<Run>) -> Result<Option<Run>, Verb> {
    match verb {
        Verb::Apply => Ok(Some(Run::Apply)),
        Verb::Node => Ok(Some(match under_way {
            Some(run) => run,
            None => Run::Node,
        })),
        Verb::Nothing => Ok(under_way),
        Verb::ManagedElsewhere | Verb::StepTooLarge | Verb::CutShort => Err(verb),
    }
}

/// What decides whether kubeadm may change etcd.
#[derive(Clone, Copy, Debug)]
pub struct EtcdFacts<'a> {
    /// The image that runs.
    pub live: &'a EtcdTag,
    /// The image that kubeadm would write.
    pub wanted: &'a EtcdTag,
    /// The manifest that kubeadm would write has other settings.
    pub differs: bool,
    /// The manifest of the API server will change. kubeadm renews etcd's certificates only with it.
    pub server_differs: bool,
    /// The certificates of etcd.
    pub certificates: &'a [Certificate],
    /// The clock, in seconds since 1970.
    pub now: u64,
}

/// Whether kubeadm may change etcd. It copies all data each time and restarts the member, so only
/// where there is something to change. kubeadm never takes etcd back.
#[must_use]
pub fn may_change_etcd(facts: &EtcdFacts<'_>) -> bool {
    if facts.wanted.version() < facts.live.version() {
        return false;
    }
    let left = |one: &Certificate| one.until.saturating_sub(facts.now);
    let is_due = facts.certificates.iter().any(|one| left(one) < RENEWAL);
    facts.differs || (is_due && facts.server_differs)
}

/// The components whose live manifest is not what it must be after kubeadm has ended well. Its exit
/// code proves nothing: without a change of etcd it does not look at etcd.yaml, and on a node that
/// it takes for a worker it does nothing. An etcd that was to stay may be the one that an earlier
/// run has written: only a run that may change etcd expects one.
#[must_use]
pub fn not_written(etcd: bool, all: &BTreeMap<Component, Pages>) -> Vec<Component> {
    let is_wrong = |(component, pages): &(&Component, &Pages)| {
        let stays = **component == Component::Etcd && !etcd;
        let may_be = match stays {
            true => [pages.before.as_ref(), pages.expected.as_ref()],
            false => [pages.expected.as_ref(), None],
        };
        let mut known = may_be.into_iter().flatten().peekable();
        known.peek().is_some() && !known.any(|kept| is_live(pages, kept))
    };
    let wrong = all.iter().filter(is_wrong);
    wrong.map(|(component, _)| *component).collect()
}

fn is_live(pages: &Pages, kept: &Kept) -> bool {
    matches!(&pages.live, Live::Text(digest) if *digest == kept.digest)
}

/// How a raise has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ended {
    /// This node's control plane is at this version, and serves.
    Raised(Version),
    /// It is not.
    NotRaised(NotRaised),
}

/// Why a control plane was not raised, and what it is at now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NotRaised {
    /// How far it came.
    pub phase: Phase,
    /// Why it went no further.
    pub detail: Detail,
    /// A manifest has changed since the raise began.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub swapped: bool,
    /// The tag of the image in each manifest that can be read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<Component, Name>,
}

/// How `careen-control give-up` has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GivingUp {
    /// No kubeadm of a raise runs, and no repair changes the manifests any more.
    GivenUp(UpgradeId),
    /// The raise is still under way, for this reason.
    NotGivenUp(Detail),
}

/// The parts of a raise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// The look at the node and the cluster. Nothing has changed.
    Look,
    /// kubeadm of the new version renders what it would write. Nothing has changed.
    Render,
    /// An image that the new system carries cannot be imported. Nothing has changed.
    Images,
    /// The ledger of manifests cannot be kept, or a manifest cannot be repaired.
    Ledger,
    /// `kubeadm upgrade` ended with an error.
    Kubeadm,
    /// kubeadm ended well, and a manifest is not what it should be.
    Manifests,
    /// A component does not serve.
    Serving,
}

#[cfg(test)]
mod tests;
