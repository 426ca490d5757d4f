//! The answer where the disk refuses.

use upgrade::control_plane::Saving;

/// The answer for what cannot be written.
pub(super) fn not_written(why: String) -> Saving {
    Saving::NotWritten { why: why.into() }
}
