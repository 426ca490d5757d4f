//! What a part of the life decides.

use crate::record::{Stage, Stay};
use crate::step::Act;

/// The stay from now on, and the act.
pub(super) struct Next {
    pub(super) stay: Option<Stay>,
    pub(super) act: Act,
}

impl Next {
    /// The stay goes on as it is.
    pub(super) const fn act(stay: Stay, act: Act) -> Self {
        Self {
            stay: Some(stay),
            act,
        }
    }

    /// The stay reaches this stage, and the host looks again.
    pub(super) fn reach(stay: Stay, stage: Stage) -> Self {
        Self::act(Stay { stage, ..stay }, Act::Look)
    }
}
