//! Why an image is refused, or could not be read.

use upgrade::Reason;

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
