//! Why a request is not taken, where its node's agent says that. What is answered stays meanwhile, for it is an older request's: the reason is
//! in the agent's condition alone (`report/hindered.rs` of the brain).

use requests::PhaseName;
use upgrade::reason::Wait;
use upgrade::report::Status;

use crate::span;
use crate::standing::Standing;
use crate::view::{NodeView, Word};

/// What is in the way, by a word that was said of the request that stands.
#[must_use]
pub fn untaken(node: &NodeView) -> Option<&Word> {
    last_word(node).filter(|_| was_heard_since(node))
}

/// What was in the way when the agent was last heard of. It writes the same reason once, so it may still be.
#[must_use]
pub fn last_word(node: &NodeView) -> Option<&Word> {
    let is_waiting = Standing::of(node).is_waiting();
    let status = node.reply.status.as_ref().filter(|_| is_waiting)?;
    node.word
        .as_ref()
        .filter(|word| is_in_the_way(word, status))
}

/// Where nothing is, the condition has the phase, or the reason of what has failed. A pause has its own words, and stands on the Node.
fn is_in_the_way(word: &Word, status: &Status) -> bool {
    let told = [Some(status.phase.as_str()), status.code.as_deref()];
    !told.contains(&Some(word.code.as_str()))
        && PhaseName::of(&word.code) == PhaseName::Other
        && Wait::of(&word.code) != Some(Wait::Pause)
}

fn was_heard_since(node: &NodeView) -> bool {
    let asked = node.asked.as_ref().and_then(|asked| asked.since);
    match (asked.map(span::seconds), node.heard.map(span::seconds)) {
        (Some(asked), Some(heard)) => heard >= asked,
        (None, Some(_)) => true,
        (_, None) => false,
    }
}
