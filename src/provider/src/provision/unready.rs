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
}
