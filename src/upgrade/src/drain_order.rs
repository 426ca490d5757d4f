//! The order in which pods leave a node: group by group. Pods in no group leave first.

use serde::{Deserialize, Serialize};

use crate::id::SinceBoot;

/// Pods that leave together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Group {
    /// Pods of these namespaces; if empty, of any.
    pub namespaces: Vec<String>,
    /// Pods of this priority or a higher one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// How long the next group waits for this one, in seconds; 0 waits until its pods are gone.
    pub seconds: u64,
}

impl Group {
    /// Whether the group selects any pods and has a time limit.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        (!self.namespaces.is_empty() || self.priority.is_some()) && self.seconds <= 86_400
    }

    fn names(&self, namespace: &str, priority: i32) -> bool {
        let there =
            self.namespaces.is_empty() || self.namespaces.iter().any(|one| one == namespace);
        there && self.priority.is_none_or(|least| priority >= least)
    }
}

/// A pod's place: 0 if no group selects it, else that of the last group that does.
#[must_use]
pub fn place(order: &[Group], namespace: &str, priority: i32) -> usize {
    let last = order
        .iter()
        .rposition(|group| group.names(namespace, priority));
    last.map_or(0, |at| at + 1)
}

/// The current place: pods of this place and of lower ones are asked to leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    place: usize,
    since: SinceBoot,
}

impl Turn {
    /// Whether pods of this place are asked to leave.
    #[must_use]
    pub const fn has_come_for(&self, place: usize) -> bool {
        place <= self.place
    }

    /// Moves on to the next place when all pods of the current one are gone or its time is over.
    /// `left` has the places of the remaining pods.
    pub fn go_on(&mut self, order: &[Group], left: &[usize], now: SinceBoot) {
        while self.place < order.len() && (!left.contains(&self.place) || self.is_over(order, now))
        {
            self.place += 1;
            self.since = now;
        }
    }

    fn is_over(self, order: &[Group], now: SinceBoot) -> bool {
        let group = self.place.checked_sub(1).and_then(|at| order.get(at));
        group.is_some_and(|group| {
            group.seconds > 0 && now.seconds_since(self.since) >= group.seconds
        })
    }
}
