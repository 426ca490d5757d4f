//! The requested upgrade of a node, and the decision about it.

use upgrade::names;

use crate::cli::Upgrade;
use crate::duration::Span;

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

/// Why there is nothing to request of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wishless {
    /// It is already done.
    Done(String),
    /// There is nothing on the node that it could apply to.
    Needless(String),
    /// The state of the node does not allow it.
    Refuse(String),
}
