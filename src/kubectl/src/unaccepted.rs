//! Why an agent does not accept a request, as the agent reports it. The answer on the Node
//! meanwhile belongs to an older request, so only the agent's condition has the reason
//! (`report/hindered.rs` of the brain).

use requests::PhaseName;
use upgrade::reason::Wait;
use upgrade::report::Status;

use crate::duration;
use crate::standing::Standing;
use crate::view::{NodeView, Word};

/// What blocks the request, as reported since the current request was written.
#[must_use]
pub fn unaccepted(node: &NodeView) -> Option<&Word> {
    last_word(node).filter(|_| was_heard_since(node))
}

/// What blocked the request when the agent last reported. The agent writes the same reason only
/// once, so it may still apply.
#[must_use]
pub fn last_word(node: &NodeView) -> Option<&Word> {
    let is_waiting = Standing::of(node).is_waiting();
    let status = node.reply.status.as_ref().filter(|_| is_waiting)?;
    node.word
        .as_ref()
        .filter(|word| is_in_the_way(word, status))
}

/// If nothing blocks, the condition has the phase, or the reason of a failure. A pause has its own
/// message and annotation on the Node.
fn is_in_the_way(word: &Word, status: &Status) -> bool {
    let told = [Some(status.phase.as_str()), status.code.as_deref()];
    !told.contains(&Some(word.code.as_str()))
        && PhaseName::of(&word.code) == PhaseName::Other
        && Wait::of(&word.code) != Some(Wait::Pause)
}

fn was_heard_since(node: &NodeView) -> bool {
    let asked = node.asked.as_ref().and_then(|asked| asked.since);
    match (
        asked.map(duration::seconds),
        node.heard.map(duration::seconds),
    ) {
        (Some(asked), Some(heard)) => heard >= asked,
        (None, Some(_)) => true,
        (_, None) => false,
    }
}
