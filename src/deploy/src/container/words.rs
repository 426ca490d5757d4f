//! What skopeo and the libraries around it say, for a reason's detail. Nothing is decided on it.

use host::redact::veiled;
use ostree_ext::containers_image_proxy::Error;
use upgrade::reason::complaint;

use super::skopeo;
use crate::args::FetchImage;

/// What an error of skopeo's proxy says; some of its kinds hide that from `Display`. If skopeo
/// itself failed, it begins with the program's path. Its status and its last words are at the end.
pub fn of(wanted: &FetchImage, error: &Error) -> String {
    if let Error::RequestReturned(text) | Error::Configuration(text) = error {
        return told(text);
    }
    let program = skopeo::program(&wanted.settings);
    let program = program.display();
    if let Error::Other(text) = error {
        return told(&format!("{program}: {text}"));
    }
    if let Error::Io(cause) | Error::SkopeoSpawnError(cause) = error {
        return told(&format!("{program}: {cause}"));
    }
    told(&error.to_string())
}

/// The same for one that came through ostree-ext, with what it was doing.
pub fn of_chain(wanted: &FetchImage, error: &anyhow::Error) -> String {
    let words = error.chain().map(|link| match link.downcast_ref() {
        Some(error) => of(wanted, error),
        None => link.to_string(),
    });
    told(&words.collect::<Vec<_>>().join(": "))
}

/// What a program or library says, without secrets and in one line.
pub fn told(text: &str) -> String {
    complaint(&veiled(text))
}
