//! Reasons to hold a call before it is judged.

use thiserror::Error;

/// An object that is not visible, or not yet.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unready {
    /// A never-replace setting, or the Machine itself, may be among the objects that are not listed
    /// yet.
    #[error(
        "careen-provider has just started and does not see all objects yet. No action is needed."
    )]
    Starting,
    /// Core calls for all namespaces, including those that are not watched.
    #[error(
        "careen-provider does not see this Machine. Check that it watches the Machine's namespace."
    )]
    NoMachine,
    /// The call was delayed, or does not come from core; or the watch is slightly behind.
    #[error("careen-provider sees another version in this Machine. No action is needed.")]
    OtherVersion,
    /// Core sets this before it calls.
    #[error(
        "careen-provider does not see yet that Cluster API updates this Machine. No action is needed."
    )]
    NotUpdated,
    /// The owner may have the never-replace setting.
    #[error("careen-provider does not see {kind} {key}. Check that it watches that namespace.")]
    NoOwner {
        /// Cluster or MachineDeployment.
        kind: &'static str,
        /// Its namespace and name.
        key: String,
    },
}

impl Unready {
    /// Seconds until core should ask again. Nearly all of these reasons pass within moments.
    #[must_use]
    pub const fn retry_after(&self) -> u32 {
        match self {
            Self::Starting | Self::OtherVersion | Self::NotUpdated => 1,
            Self::NoMachine | Self::NoOwner { .. } => 5,
        }
    }
}
