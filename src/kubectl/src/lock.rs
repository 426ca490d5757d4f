//! The lock of the control plane as the client sees it: who holds it, and what the holder's Node
//! says.

use upgrade::control_plane::{Ending, Held, Holder, News, ending};
use upgrade::names;

use crate::api::{Lease, Node};
use crate::duration;
use crate::view::NodeView;

/// A lock that somebody holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockView {
    /// Who holds it. This is never [`Held::Free`].
    pub held: Held,
    /// The same as text.
    pub holder: String,
    /// Since when, in seconds since 1970, by the holder's clock.
    pub since: Option<u64>,
    /// The UID of the Lease.
    pub uid: String,
    /// The resource version that was read.
    pub resource_version: String,
}

impl LockView {
    /// Reads the Lease; nothing if nobody holds it.
    #[must_use]
    pub fn of(lease: Lease) -> Option<Self> {
        let lease = lease.into_inner();
        let spec = lease.spec.unwrap_or_default();
        let held = Held::of(spec.holder_identity.as_deref());
        let holder = match &held {
            Held::Free => return None,
            Held::By(holder) => holder.to_string(),
            Held::Somebody(name) => name.to_string(),
        };
        let since = spec.acquire_time.or(spec.renew_time);
        Some(Self {
            held,
            holder,
            since: since
                .and_then(|time| time.parse().ok())
                .map(duration::seconds),
            uid: lease.metadata.uid.unwrap_or_default(),
            resource_version: lease.metadata.resource_version.unwrap_or_default(),
        })
    }

    /// The upgrade that holds it; nothing if the holder is no upgrade of a node.
    #[must_use]
    pub const fn upgrade(&self) -> Option<&Holder> {
        match &self.held {
            Held::By(holder) => Some(holder),
            Held::Free | Held::Somebody(_) => None,
        }
    }
}

/// A lock, and what the Node of its holder says.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The lock.
    pub lock: LockView,
    /// The Node, if it exists.
    pub node: Option<NodeView>,
    /// What it says about an upgrade.
    pub news: News,
}

impl Seen {
    /// Reads the Node of the holder; nothing if there is none.
    #[must_use]
    pub fn of(lock: LockView, node: Option<Node>) -> Self {
        let news = match (lock.upgrade(), &node) {
            (None, _) => News::Nothing,
            (Some(_), None) => News::Gone,
            (Some(_), Some(node)) => {
                let annotations = node.metadata.annotations.as_ref();
                let status = annotations.and_then(|all| all.get(names::STATUS));
                News::of(status.map(String::as_str))
            }
        };
        Self {
            lock,
            node: node.map(NodeView::from),
            news,
        }
    }

    /// Why the holder is over, if it is. Then the next upgrade takes the lock over by itself.
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        ending(self.lock.upgrade()?, &self.news)
    }

    /// The phase of the upgrade that holds the lock. The Node may have another upgrade.
    #[must_use]
    pub fn phase(&self) -> Option<&str> {
        let holder = self.lock.upgrade()?;
        let status = self.node.as_ref()?.reply.status.as_ref()?;
        let ours = status.id.as_ref() == Some(holder.id());
        ours.then_some(status.phase.as_str())
    }
}
