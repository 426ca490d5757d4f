//! One thing that a node lacks.

use crate::cause::Cause;

/// One thing that the node had before the drain and does not have now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// Its name in the policy's `except`.
    pub key: String,
    /// What is missing, in one sentence without a full stop.
    pub what: String,
    /// Where the cause is.
    pub cause: Cause,
    /// A pod that the API server does not have on this node. Its controller may still create it.
    pub may_come: bool,
}

impl Lack {
    /// A difference that stays unless something changes.
    #[must_use]
    pub const fn new(key: String, what: String, cause: Cause) -> Self {
        Self {
            key,
            what,
            cause,
            may_come: false,
        }
    }
}
