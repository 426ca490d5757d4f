//! What a policy requires of signatures.

use serde::{Deserialize, Serialize};

use crate::policy::Policy;

/// What a policy requires of signatures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signatures {
    /// Unsigned images are allowed.
    pub unsigned: bool,
    /// The remote whose keyring must have signed the commit in a container image; empty for the
    /// container policy.
    pub signed_by: String,
}

impl From<&Policy> for Signatures {
    fn from(policy: &Policy) -> Self {
        Self {
            unsigned: policy.unsigned,
            signed_by: policy.registry.signed_by.clone(),
        }
    }
}
