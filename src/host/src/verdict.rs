//! The note of the container policy by which skopeo accepted the image of a commit.

use std::fs;
use std::path::PathBuf;

use upgrade::id::Digest;

use crate::{Places, Result, durable};

/// What the note's name begins with.
pub const PREFIX: &str = "vouched-";

/// Writes the note.
///
/// # Errors
/// The note is not on the disk.
pub fn note(places: &Places, commit: &Digest, sum: &str) -> Result<()> {
    durable::make_private_folder(&places.state())?;
    durable::write(&path(places, commit), sum.as_bytes(), 0o600)
}

/// Whether the note for this commit has this sum.
#[must_use]
pub fn is(places: &Places, commit: &Digest, sum: &str) -> bool {
    fs::read_to_string(path(places, commit)).is_ok_and(|noted| noted == sum)
}

/// Removes the note.
///
/// # Errors
/// It may still be there.
pub fn forget(places: &Places, commit: &Digest) -> Result<()> {
    durable::remove(&path(places, commit))
}

fn path(places: &Places, commit: &Digest) -> PathBuf {
    places.state().join(format!("{PREFIX}{commit}"))
}
