//! A Machine, as far as it matters.

use std::collections::BTreeMap;

use requests::NodeFacts;

use super::Mark;
use super::decide::others_id;
use super::time::IN_ALL;

/// A Machine, as far as it matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its resource version: who writes says what it saw.
    pub resource_version: String,
    /// The Cluster's name.
    pub cluster: String,
    /// Its version, as it stands there.
    pub version: Option<String>,
    /// Its provider id.
    pub provider_id: Option<String>,
    /// The name of its Node.
    pub node: Option<String>,
    /// It is being deleted.
    pub deleting: bool,
    /// It is paused by annotation.
    pub paused: bool,
    /// It belongs to the control plane.
    pub control_plane: bool,
    /// Its MachineDeployment.
    pub deployment: Option<String>,
    /// Core has marked it for an update in place.
    pub in_progress: bool,
    /// Core has [`crate::names::UPDATE_MACHINE`] to call for it.
    pub hook_pending: bool,
    /// It is annotated with [`crate::names::ASK`].
    pub asked: bool,
    /// Value of [`crate::names::RETRY`].
    pub retry: Option<String>,
    /// It is annotated with [`crate::names::LEAVE_OUT`]: nobody waits for it.
    pub left_out: bool,
    /// Our mark.
    pub mark: Option<Mark>,
    /// It has the annotation [`crate::names::SKIP_REMEDIATION`], whoever wrote it.
    pub skips_remediation: bool,
    /// Its labels, for the catalogue's selectors.
    pub labels: BTreeMap<String, String>,
    /// Its InfraMachine: API group, kind, name.
    pub infra: Option<(String, String, String)>,
}

impl Machine {
    /// It is annotated, there to stay, and not left out. The annotations of its group go together:
    /// when the last such has arrived.
    #[must_use]
    pub const fn asks(&self) -> bool {
        self.asked && !self.deleting && !self.left_out
    }

    /// Whether a Node is its own, as far as both say.
    #[must_use]
    pub fn owns(&self, node: &NodeFacts) -> bool {
        self.node.as_deref() == Some(node.name.as_str()) && others_id(self, node).is_none()
    }

    /// It keeps its turn for longer than an upgrade takes, or for as long as its node likes: the
    /// node's time is over, or the node is paused or waits for its hours or its soak. A person may
    /// want to know whom the others wait for. Of a Machine that a person keeps from remediation the
    /// mark does not show that its time is over, so then the longest time counts.
    #[must_use]
    pub fn keeps_its_turn(&self, node: Option<&NodeFacts>, now: i64, limit: i64) -> bool {
        let mark = self.mark.as_ref();
        let is_let_go = mark.is_some_and(|mark| !mark.skip_is_ours);
        let in_all = limit.saturating_mul(IN_ALL);
        let is_late = mark.is_some_and(|mark| now.saturating_sub(mark.since) >= in_all);
        let is_over = is_late || (is_let_go && !self.skips_remediation);
        is_over || node.is_some_and(NodeFacts::waits_by_will)
    }

    /// Core updates it in place, and says by its calls to what. Before the hook is pending the Machine's owner still writes what it
    /// should be, and nothing of that stands until it is done; behind it nothing changes any more (Cluster API,
    /// machine_controller_inplace_update.go).
    #[must_use]
    pub const fn is_called_for(&self) -> bool {
        self.in_progress && self.hook_pending
    }
}
