//! A Machine, reduced to what a decision needs.

use std::collections::BTreeMap;

use requests::NodeFacts;

use super::answer::Mark;
use super::other::Other;

/// The total time that a node may take after the request, as a multiple of the limit. The node
/// itself reports which phases it reached, and when.
pub(super) const IN_ALL: i64 = 4;

/// A Machine, reduced to what a decision needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its resource version. A writer states the version that it saw.
    pub resource_version: String,
    /// The Cluster's name.
    pub cluster: String,
    /// Its version, unparsed.
    pub version: Option<String>,
    /// Its provider id.
    pub provider_id: Option<String>,
    /// The name of its Node.
    pub node: Option<String>,
    /// It has a deletion timestamp.
    pub deleting: bool,
    /// It has the pause annotation.
    pub paused: bool,
    /// A key on it that looks like a pause, in words.
    pub looks_paused: Option<String>,
    /// It is part of the control plane.
    pub control_plane: bool,
    /// Its MachineDeployment.
    pub deployment: Option<String>,
    /// Core marked it for an in-place update.
    pub in_progress: bool,
    /// Core has yet to call [`crate::names::UPDATE_MACHINE`] for it.
    pub hook_pending: bool,
    /// It has the annotation [`crate::names::ASK`].
    pub asked: bool,
    /// The value of [`crate::names::RETRY`].
    pub retry: Option<String>,
    /// It has the annotation [`crate::names::LEAVE_OUT`]: no other Machine waits for it.
    pub left_out: bool,
    /// The provider's mark.
    pub mark: Option<Mark>,
    /// It has the annotation [`crate::names::SKIP_REMEDIATION`], from any writer.
    pub skips_remediation: bool,
    /// Its labels, for the catalogue's selectors.
    pub labels: BTreeMap<String, String>,
    /// Its InfraMachine: API group, kind and name.
    pub infra: Option<(String, String, String)>,
}

impl Machine {
    /// It requests an upgrade by annotation, is not being deleted and is not left out. The
    /// annotations of a group are removed together, when the last such Machine is done.
    #[must_use]
    pub const fn asks(&self) -> bool {
        self.asked && !self.deleting && !self.left_out
    }

    /// Whether a Node is its own, as far as both objects tell.
    #[must_use]
    pub fn owns(&self, node: &NodeFacts) -> bool {
        self.node.as_deref() == Some(node.name.as_str()) && others_id(self, node).is_none()
    }

    /// It is marked, and health checks apply to it. The provider removed its annotation when the
    /// node's time was over, or another writer removed theirs.
    pub(super) fn is_let_go(&self) -> bool {
        let ours = self.mark.as_ref().map(|mark| mark.skip_is_ours);
        ours == Some(false) && !self.skips_remediation
    }

    /// It keeps its turn for longer than an upgrade takes, or for as long as its node chooses.
    /// Either the node's time is over, or the node is paused or waits for its window or its soak. A
    /// person may want to know which Machine the others wait for. If a person keeps the Machine
    /// from remediation, the mark does not show that its time is over. The longest time counts
    /// then.
    #[must_use]
    pub fn keeps_its_turn(&self, node: Option<&NodeFacts>, now: i64, limit: i64) -> bool {
        let mark = self.mark.as_ref();
        let is_let_go = mark.is_some_and(|mark| !mark.skip_is_ours);
        let in_all = limit.saturating_mul(IN_ALL);
        let is_late = mark.is_some_and(|mark| now.saturating_sub(mark.since) >= in_all);
        let is_over = is_late || (is_let_go && !self.skips_remediation);
        is_over || node.is_some_and(NodeFacts::waits_by_will)
    }

    /// Core updates it in place, and its calls say to what. Before the hook is pending, the
    /// Machine's owner still writes the desired state, and that state is final only when the owner
    /// is done. After that it no longer changes (Cluster API,
    /// machine_controller_inplace_update.go).
    #[must_use]
    pub const fn is_called_for(&self) -> bool {
        self.in_progress && self.hook_pending
    }
}

impl Other {
    /// This Machine.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        Self {
            machine: machine.name.clone(),
            node: machine.node.clone().unwrap_or_default(),
        }
    }
}

/// The provider ids of the Machine and of the Node, if they show that the Node belongs to another
/// machine.
pub(super) fn others_id<'a>(
    machine: &'a Machine,
    node: &'a NodeFacts,
) -> Option<(&'a str, &'a str)> {
    let both = machine
        .provider_id
        .as_deref()
        .zip(node.provider_id.as_deref());
    both.filter(|(wanted, found)| wanted != found)
}
