//! The oldest API server of a cluster, with its owner.

use std::cmp::Ordering;
use std::fmt;

use upgrade::Version;

/// The version of an API server, and where it runs. One old member holds every worker, so a person
/// must be able to find it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The version.
    pub version: Version,
    /// Its Node, or `None` for the version that the server itself reports.
    pub node: Option<String>,
    /// The Machine of that Node, if it has one.
    pub machine: Option<String>,
}

impl Server {
    /// A server whose Node is not known.
    #[must_use]
    pub const fn somewhere(version: Version) -> Self {
        Self {
            version,
            node: None,
            machine: None,
        }
    }

    /// The older one first. Of several equal ones, always the same Node is named.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let place = |one: &Self| (one.node.is_none(), one.node.clone());
        let order = self.version.cmp(&other.version);
        order.then_with(|| place(self).cmp(&place(other)))
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = &self.version;
        match (&self.node, &self.machine) {
            (Some(node), Some(machine)) => write!(f, "{version} (Node {node}, Machine {machine})"),
            (Some(node), None) => write!(f, "{version} (Node {node}, without a Machine)"),
            (None, _) => write!(f, "{version} (reported by its API server)"),
        }
    }
}
