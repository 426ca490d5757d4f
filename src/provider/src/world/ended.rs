//! Counts how the provider's requests ended.

use requests::NodeFacts;

use super::World;
use crate::engine::Machine;

impl World {
    /// Counts how the marked request of a Machine ended and what it cost, if the Node reports on
    /// this request.
    pub fn ended(&self, machine: &Machine, node: Option<&NodeFacts>) {
        let marked = machine.mark.as_ref().map(|mark| mark.id.as_str());
        let node = node.filter(|node| marked.is_some() && node.reply.id() == marked);
        let Some((id, ended)) = marked.zip(node.and_then(|node| node.ended.as_deref())) else {
            return;
        };
        if self.counted.is_new(machine.key(), id, ended.at) {
            self.metrics.ended(ended);
        }
    }
}
