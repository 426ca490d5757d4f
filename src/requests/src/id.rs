//! The ids of this program's requests.

/// The prefix of a program's request ids. It shows people on the Node who made the request.
pub const ID_PREFIX: &str = "capi-";

/// Whether a request has this program's prefix, from any process and for any image.
#[must_use]
pub fn is_ours(id: &str) -> bool {
    id.starts_with(ID_PREFIX)
}
