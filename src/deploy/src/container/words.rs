//! What skopeo and the libraries around it say, for a reason's detail. Nothing is decided on it.

use host::redact::veiled;
use ostree_ext::containers_image_proxy::Error;
use upgrade::reason::complaint;

/// What an error of skopeo's proxy says; some of its kinds hide that from `Display`.
pub fn of(error: &Error) -> String {
    if let Error::Other(text) | Error::RequestReturned(text) | Error::Configuration(text) = error {
        told(text)
    } else {
        told(&error.to_string())
    }
}

/// The same for one that came through ostree-ext, with what it was doing.
pub fn of_chain(error: &anyhow::Error) -> String {
    let words = error
        .chain()
        .map(|link| link.downcast_ref().map_or_else(|| link.to_string(), of));
    told(&words.collect::<Vec<_>>().join(": "))
}

/// What a program or library says, without secrets and in one line.
pub fn told(text: &str) -> String {
    complaint(&veiled(text))
}
