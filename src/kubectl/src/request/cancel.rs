//! Whether to withdraw a node's request.

use requests::PhaseName;

use super::wish::Turn;
use crate::phase::meaning;
use crate::standing::{Standing, is_answered};
use crate::view::NodeView;

/// Whether a node's request can be withdrawn.
#[must_use]
pub fn cancel(node: &NodeView) -> Turn {
    let standing = Standing::of(node);
    if node.asked.is_none() {
        let why = if standing == Standing::Working {
            "its request is withdrawn already, and it goes back to the old system"
        } else {
            "it has no request"
        };
        return Turn::Done(why.to_owned());
    }
    match standing {
        // Withdrawing a finished request would make the agent forget that the image failed here.
        Standing::Upgraded | Standing::Failed | Standing::Refused | Standing::Halted => {
            Turn::Done("nothing is under way on it".to_owned())
        }
        Standing::Idle | Standing::Asked | Standing::Held => Turn::Write,
        // The request waits after the upgrade in progress, so it can be withdrawn at any time.
        Standing::Working if !is_answered(node) => Turn::Write,
        Standing::Working => under_way(node.reply.phase()),
    }
}

fn under_way(phase: PhaseName) -> Turn {
    if phase == PhaseName::Other || phase.can_be_withdrawn() {
        return Turn::Write;
    }
    Turn::Refuse(format!(
        "too late, {}; it continues to its own verdict, and goes back to the old system if that is bad",
        meaning(phase)
    ))
}
