//! What to inspect for an answer.

use crate::target::Target;

/// What to inspect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// The image.
    pub target: Target,
    /// It is what this node has kept, so nothing is fetched.
    pub kept: bool,
}
