//! Other people's words in a reason.

use super::Reason;
use crate::id::Malformed;

/// The longest part of somebody else's complaint that is repeated, in characters.
const SHOWN: usize = 500;

/// What a parser says of a bad text, for a reason's detail. It may repeat the text, which may be as long as it likes, and the
/// Node's annotations must take it.
#[must_use]
pub fn complaint(error: &impl std::fmt::Display) -> String {
    error.to_string().chars().take(SHOWN).collect()
}

impl From<Malformed> for Reason {
    fn from(bad: Malformed) -> Self {
        Self::BadRequest {
            field: bad.field.to_owned(),
            value: bad.value,
            accepted: bad.accepted.to_owned(),
        }
    }
}
