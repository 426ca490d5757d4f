//! Why a call is refused without a hook's answer: Cluster API would not make it.

use thiserror::Error;

use super::hook::API_VERSION;

/// What is wrong with the call.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
// The message names each field.
#[allow(missing_docs)]
pub enum Refusal {
    /// The path names no hook.
    #[error("no hook has this path. Use a path that Discovery lists.")]
    NoHook,
    /// The method is not POST.
    #[error("this method is not served. Use POST.")]
    Method,
    /// The process is stopping.
    #[error("careen-provider is stopping. Ask again.")]
    Stopping,
    /// The body arrives too slowly.
    #[error("the body did not arrive in time. Send it faster.")]
    Slow,
    /// The body has too many bytes.
    #[error("the body is longer than {bytes} bytes. Send a shorter one.")]
    TooLong { bytes: usize },
    /// The body would take too much memory.
    #[error("the body has more than {values} values. Send fewer.")]
    TooManyValues { values: usize },
    /// The connection ended within the body.
    #[error("the body ended early. Send all of it.")]
    CutShort,
    /// The body is not JSON of the expected form.
    #[error("the body is not a valid {hook} request: {detail}. Correct it.")]
    Malformed { hook: &'static str, detail: String },
    /// The call uses another version of the hooks.
    #[error("apiVersion is {found:?}, which is not served. Use {API_VERSION}.")]
    ApiVersion { found: String },
    /// The body belongs to another path.
    #[error("kind is {found:?}, which this path does not serve. Use {wanted}.")]
    Kind { found: String, wanted: String },
}

impl Refusal {
    /// The HTTP status.
    #[must_use]
    pub const fn status(&self) -> u16 {
        match self {
            Self::NoHook => 404,
            Self::Method => 405,
            Self::Slow => 408,
            Self::TooLong { .. } | Self::TooManyValues { .. } => 413,
            Self::Stopping => 503,
            Self::CutShort
            | Self::Malformed { .. }
            | Self::ApiVersion { .. }
            | Self::Kind { .. } => 400,
        }
    }
}
