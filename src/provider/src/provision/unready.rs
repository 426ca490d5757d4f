//! Since when a Node is seen not Ready.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use infrastructure::Node;
use requests::NodeFacts;

/// The Nodes that are not Ready, by their UID, and since when they were seen so. A restart forgets
/// them, so that nothing that was not seen counts against a host.
#[derive(Default)]
pub struct Unready(Mutex<HashMap<String, i64>>);

impl Unready {
    /// What a Node shows of its host now.
    pub fn judge(&self, node: &NodeFacts, seen_since: i64, now: i64) -> Node {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if node.ready {
            all.remove(&node.uid);
            return Node::Ready;
        }
        let since = *all.entry(node.uid.clone()).or_insert(now);
        Node::NotReady {
            // While the server was away nobody could see it become Ready.
            seconds: now.saturating_sub(since.max(seen_since)),
        }
    }

    /// The clock was set by so many seconds.
    pub(super) fn clock_was_set(&self, by: i64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.values_mut().for_each(|since| *since += by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_only_while_the_server_is_seen() {
        let unready = Unready::default();
        let node = |ready: bool| NodeFacts {
            uid: "u".to_owned(),
            ready,
            ..NodeFacts::default()
        };
        let seconds = |seconds: i64| Node::NotReady { seconds };
        assert_eq!(unready.judge(&node(false), 0, 100), seconds(0));
        assert_eq!(unready.judge(&node(false), 0, 160), seconds(60));
        // The server was away, and is seen again since 200.
        assert_eq!(unready.judge(&node(false), 200, 230), seconds(30));
        assert_eq!(unready.judge(&node(true), 200, 240), Node::Ready);
        assert_eq!(unready.judge(&node(false), 200, 250), seconds(0));
        unready.clock_was_set(3600);
        assert_eq!(unready.judge(&node(false), 200, 3860), seconds(10));
    }
}
