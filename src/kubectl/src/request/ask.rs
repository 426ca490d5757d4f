//! Whether to request an upgrade of a node.

use upgrade::Target;

use super::memory;
use super::wish::{Turn, Wish};
use crate::standing::Standing;
use crate::view::NodeView;

/// Whether to request this upgrade of a node.
#[must_use]
pub fn upgrade(node: &NodeView, wish: &Wish) -> Turn {
    let same = asks_for(node, wish);
    let just_so = same && soaks(node, wish);
    match Standing::of(node) {
        Standing::Working if just_so => Turn::Join,
        Standing::Working => Turn::Refuse(under_way(node)),
        Standing::Asked | Standing::Held if just_so => Turn::Join,
        Standing::Failed | Standing::Refused | Standing::Halted
            if same && !wish.despite_failure =>
        {
            let why = node.reason().unwrap_or("no reason was given");
            Turn::Refuse(format!(
                "this request has failed: {}. `kubectl careen retry {}` repeats it",
                why.trim_end_matches('.'),
                node.name
            ))
        }
        Standing::Upgraded if same && runs_pinned(node, wish) => {
            Turn::Done("it runs this image".to_owned())
        }
        Standing::Idle
        | Standing::Asked
        | Standing::Held
        | Standing::Upgraded
        | Standing::Failed
        | Standing::Refused
        | Standing::Halted => unless_remembered(node, wish),
    }
}

/// Since the failure, other upgrades may have been requested and may have succeeded.
fn unless_remembered(node: &NodeView, wish: &Wish) -> Turn {
    let objection = memory::objection(node, &wish.image).filter(|_| !wish.despite_failure);
    objection.map_or(Turn::Write, Turn::Refuse)
}

fn asks_for(node: &NodeView, wish: &Wish) -> bool {
    node.asked.as_ref().is_some_and(|asked| {
        asked.raw.image.as_deref() == Some(wish.image.as_str())
            && asked.raw.kubernetes == wish.kubernetes
    })
}

/// A request in progress can be joined only if its soak is the same.
fn soaks(node: &NodeView, wish: &Wish) -> bool {
    let asked = node.asked.as_ref();
    asked.is_some_and(|asked| asked.raw.soak == wish.soak)
}

/// A ref may point elsewhere by now. A commit does not, nor does the digest of a container image,
/// whose commit only the node knows.
fn runs_pinned(node: &NodeView, wish: &Wish) -> bool {
    let Ok(wished) = wish.image.parse::<Target>() else {
        return false;
    };
    let to = node.reply.status.as_ref().and_then(|told| told.to.as_ref());
    match &wished.commit {
        Some(commit) => to == Some(commit),
        None => wished.is_pinned(),
    }
}

/// The objection that an upgrade is in progress.
pub(super) fn under_way(node: &NodeView) -> String {
    let status = node.reply.status.as_ref();
    let percent = status.map_or(0, |status| status.percent);
    let phase = status.map_or("unknown", |status| status.phase.as_str());
    let image = node
        .image()
        .unwrap_or("an image that is no longer requested");
    format!(
        "an upgrade to {image} is under way ({phase}, {percent} %): wait for its end, or cancel it"
    )
}
