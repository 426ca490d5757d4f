//! What to write to a Node, and whether to write it: pure functions of the Node as it was read.

mod errand;
mod memory;
mod patch;
mod retry;
mod undo;

use k8s_openapi::jiff::Timestamp;
use requests::PhaseName;
use upgrade::{Malformed, Target, UpgradeId, names};

pub use errand::{Aim, Errand, Wishless};
pub use memory::is_image;
pub use patch::{asking, pausing, questioning, unquestioning, withdrawing};
pub use undo::{Rollback, undone};

use crate::cli::Upgrade;
use crate::phase::meaning;
use crate::span::Span;
use crate::standing::{Standing, is_answered};
use crate::view::NodeView;

/// The requested upgrade of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The image.
    pub image: String,
    /// The version that the image must contain.
    pub kubernetes: Option<String>,
    /// Request it even if the image failed before.
    pub despite_failure: bool,
    /// The minimum time for which the new system must be healthy, in the annotation's format.
    pub soak: Option<String>,
}

impl Wish {
    /// The kept system. A previous failure of it is no objection.
    #[must_use]
    pub fn kept() -> Self {
        Self {
            image: names::KEPT_IMAGE.to_owned(),
            kubernetes: None,
            despite_failure: true,
            soak: None,
        }
    }

    /// Sets the soak if one is given.
    #[must_use]
    pub fn soaking(self, given: Option<Span>) -> Self {
        let given = given.map(|span| span.0.as_secs().to_string());
        Self {
            soak: given.or(self.soak),
            ..self
        }
    }
}

impl From<&Upgrade> for Wish {
    fn from(asked: &Upgrade) -> Self {
        Self {
            image: asked.image.to_string(),
            kubernetes: asked.kubernetes_version.as_ref().map(ToString::to_string),
            despite_failure: asked.again,
            soak: None,
        }
    }
}

/// What to do about a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Write.
    Write,
    /// The node already has this request.
    Join,
    /// There is nothing to do, for this reason.
    Done(String),
    /// The node's state does not allow it, for this reason.
    Refuse(String),
}

/// An id for a request made now. One person does not send two requests to one node in a
/// millisecond. Of two people the API server accepts the first.
///
/// # Errors
/// Never in practice: the generated id always has the accepted form.
pub fn new_id(now: Timestamp) -> Result<UpgradeId, Malformed> {
    let millisecond = now.as_millisecond().rem_euclid(1000);
    format!("k-{}-{millisecond:03}", now.strftime("%Y%m%dT%H%M%S")).parse()
}

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

fn under_way(node: &NodeView) -> String {
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
    match (standing, node.reply.phase()) {
        // Withdrawing a finished request would make the agent forget that the image failed here.
        (standing, _) if standing.is_end() => Turn::Done("nothing is under way on it".to_owned()),
        // The request waits after the upgrade in progress, so it can be withdrawn at any time.
        (Standing::Working, _) if !is_answered(node) => Turn::Write,
        (Standing::Working, PhaseName::Other) => Turn::Write,
        (Standing::Working, phase) if !phase.can_be_withdrawn() => Turn::Refuse(format!(
            "too late, {}; it continues to its own verdict, and goes back to the old system if that is bad",
            meaning(phase)
        )),
        _ => Turn::Write,
    }
}
