//! Why an image is refused, or could not be read.

use upgrade::Reason;
use upgrade::container::Transport;

use crate::args::FetchImage;

/// It contains no commit, or none that can be imported.
pub fn not_encapsulated(wanted: &FetchImage, detail: String) -> Reason {
    Reason::NotEncapsulated {
        image: wanted.image.to_string(),
        detail,
    }
}

/// The registry does not answer, refuses, or closes the connection.
pub fn away(wanted: &FetchImage, detail: String) -> Reason {
    Reason::RemoteAway {
        remote: wanted.image.address(),
        detail,
    }
}

/// There is no such image, or another one in its place.
pub fn nothing(wanted: &FetchImage, found: Option<String>) -> Reason {
    Reason::NoSuchImage {
        image: wanted.image.to_string(),
        found,
    }
}

/// Checks that the opened image is the requested one, each time that an image is opened. An archive
/// has only a path, and a user who can write there can replace the file at any moment. skopeo
/// verifies an archive's layers against this digest, but has no expected digest for it.
///
/// # Errors
/// [`Reason::NoSuchImage`] with the digest of the opened image.
pub fn is_the_one(wanted: &FetchImage, digest: &str) -> Result<(), Reason> {
    // skopeo itself verifies a registry's answer against the digest. The answer may be for the one
    // image in a list that is for this machine.
    if wanted.image.transport == Transport::Registry || digest == wanted.image.manifest.as_str() {
        return Ok(());
    }
    Err(nothing(wanted, Some(digest.to_owned())))
}
