//! What the record keeps about the control plane of this node.

use serde::{Deserialize, Serialize};

use crate::id::Moment;
use crate::reason::Reason;
use crate::version::Version;

/// What an upgrade has done to the control plane of this node, and what it has last seen of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Control {
    /// The lock of the control plane.
    #[serde(skip_serializing_if = "Lock::is_free")]
    pub lock: Lock,
    /// The last survey.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub look: Option<Look>,
    /// The snapshot of etcd.
    #[serde(skip_serializing_if = "Snapshot::is_due")]
    pub snapshot: Snapshot,
    /// The raise of the static pods.
    #[serde(skip_serializing_if = "Raise::is_due")]
    pub raise: Raise,
    /// When etcd was last asked to let another member lead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub yielded: Option<Moment>,
    /// How long the upgrade has waited for the control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
}

/// A wait for the control plane that no answer of careen-control has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The first answer that there is something to wait for.
    pub since: Moment,
    /// The last one.
    pub seen: Moment,
}

/// The lock of the control plane, as this upgrade last saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lock {
    /// This upgrade does not hold it.
    #[default]
    Free,
    /// This upgrade is taking it, and may hold it. Written first, because an agent that is killed
    /// does not know the outcome.
    Asked,
    /// This upgrade holds it.
    Held {
        /// When that was last seen.
        seen: Moment,
    },
    /// Another upgrade holds it.
    Busy {
        /// When that was last seen.
        seen: Moment,
        /// Which one.
        holder: String,
    },
}

/// What a survey means for this upgrade.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// When it was made.
    pub seen: Moment,
    /// What the upgrade waits for before it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Reason>,
    /// What is not well with this node's part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hurt: Option<Hurt>,
    /// kubeadm has work to do on this node.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub raises: bool,
    /// No other Node takes pods, so an eviction would help nobody.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// etcd has no majority without this node's member.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needed: bool,
}

/// A part of the control plane that is not well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hurt {
    /// What is wrong with it.
    pub detail: String,
    /// When it was first seen so in this boot.
    pub since: Moment,
}

/// The snapshot of etcd.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Snapshot {
    /// None was made since the lock was taken.
    #[default]
    Due,
    /// etcd is not on this node.
    NotHere,
    /// It is on this node.
    Kept {
        /// Its path.
        file: String,
    },
}

/// The raise of this node's static pods to the version of the image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Raise {
    /// kubeadm has not run.
    #[default]
    Due,
    /// kubeadm runs or has run, and its outcome is not known or not good.
    Begun,
    /// The static pods are at this version and serve.
    Raised {
        /// The version.
        version: Version,
    },
    /// The raise did not end well, and its manifests stay as they are.
    GivenUp,
}

impl Control {
    /// Whether this upgrade holds the lock, or may hold it.
    #[must_use]
    pub const fn holds_the_lock(&self) -> bool {
        match self.lock {
            Lock::Asked | Lock::Held { .. } => true,
            Lock::Free | Lock::Busy { .. } => false,
        }
    }

    /// Whether the last survey found no other Node that takes pods.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.look.as_ref().is_some_and(|look| look.alone)
    }

    /// The upgrade is about to take the lock, or to check that it has it. A turn that begins has a
    /// snapshot of its own. Without an answer to the last question another turn may have been since.
    #[must_use]
    pub fn asking(&self) -> Self {
        let snapshot = match self.lock {
            Lock::Held { .. } => self.snapshot.clone(),
            Lock::Free | Lock::Asked | Lock::Busy { .. } => Snapshot::Due,
        };
        Self {
            lock: Lock::Asked,
            snapshot,
            ..self.clone()
        }
    }

    /// The lock is released. What was raised and saved stays to be seen.
    #[must_use]
    pub fn let_go(&self) -> Self {
        Self {
            raise: self.raise.clone(),
            snapshot: self.snapshot.clone(),
            ..Self::default()
        }
    }
}

impl Lock {
    const fn is_free(&self) -> bool {
        matches!(self, Self::Free)
    }
}

impl Snapshot {
    /// Whether none was made.
    #[must_use]
    pub const fn is_due(&self) -> bool {
        matches!(self, Self::Due)
    }
}

impl Raise {
    /// Whether kubeadm has not run.
    #[must_use]
    pub const fn is_due(&self) -> bool {
        matches!(self, Self::Due)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn a_control_plane_that_nobody_touched_is_written_shortly() {
        assert_eq!(to_value(Control::default()).unwrap(), json!({}));
        assert_eq!(
            from_value::<Control>(json!({})).unwrap(),
            Control::default()
        );
        let newer = json!({ "raise": "Begun", "moon": "full" });
        let read: Control = from_value(newer).unwrap();
        assert_eq!(read.raise, Raise::Begun);
    }

    #[test]
    fn a_released_lock_keeps_what_was_raised() {
        let version: Version = "v1.36.3".parse().unwrap();
        let control = Control {
            lock: Lock::Asked,
            snapshot: Snapshot::NotHere,
            raise: Raise::Raised { version },
            ..Control::default()
        };
        let released = control.let_go();
        assert!(control.holds_the_lock() && !released.holds_the_lock());
        assert_eq!(released.raise, control.raise);
        assert!(control.asking().snapshot.is_due(), "it may be another turn");
        assert!(released.asking().snapshot.is_due(), "another turn");
    }
}
