//! Why a question for a plan got no answer in time.

use crate::duration;
use crate::view::{NodeView, Ready};

/// An agent writes when something changes and when it starts. An agent that wrote within this many
/// seconds is running. It knows the question if it is not older than this program.
const LATELY: u64 = 30 * 60;

/// The node may be down, the agent may never have run or may still be working on the plan, or the
/// client cannot tell.
#[must_use]
pub fn unanswered(node: &NodeView, now: u64) -> String {
    let heard = node
        .heard
        .map(|at| duration::between(duration::seconds(at), now));
    match (&node.ready, heard) {
        (Ready::Unknown(_), _) => {
            "its kubelet does not report either: the node is away".to_owned()
        }
        (Ready::Yes | Ready::No(_), None) => {
            "no agent has ever written to this Node: is careen-agent in its image, and running?"
                .to_owned()
        }
        (Ready::Yes | Ready::No(_), Some(ago)) if ago <= LATELY => format!(
            "its agent, which wrote {} ago, is still looking at the image: ask again with a longer --timeout",
            duration::short(ago)
        ),
        (Ready::Yes | Ready::No(_), Some(_)) => {
            "its agent is still looking at the image (ask again with a longer --timeout), does not run, or is too old to know \
             careen.dev/plan: `systemctl status careen-agent` on the node"
                .to_owned()
        }
    }
}
