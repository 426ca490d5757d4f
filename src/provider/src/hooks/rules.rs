//! The operator's rules for changes in place.

use super::patch::PatchType;

/// Which changes are allowed.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Fields of an InfraMachine's spec that name an image, as JSON pointers below the spec.
    pub image_fields: Vec<String>,
    /// The format of the patches.
    pub patch_type: PatchType,
}
