//! What holds a call of core's before anything is judged.

use thiserror::Error;

/// Something that is not seen, or not yet.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unready {
    /// Somebody's word against replacing may be among what is not listed yet, or the Machine itself.
    #[error(
        "careen-provider has just started and does not see all objects yet. No action is needed."
    )]
    Starting,
    /// Core calls for all namespaces, also for those that are not watched.
    #[error(
        "careen-provider does not see this Machine. Check that it watches the Machine's namespace."
    )]
    NoMachine,
    /// A call that was on its way for long, or one that is not core's; or the watch is a moment behind.
    #[error("careen-provider sees another version in this Machine. No action is needed.")]
    OtherVersion,
    /// Core shows that before it calls.
    #[error(
        "careen-provider does not see yet that Cluster API updates this Machine. No action is needed."
    )]
    NotUpdated,
    /// It may say never to replace.
    #[error("careen-provider does not see {kind} {key}. Check that it watches that namespace.")]
    NoOwner {
        /// Cluster or MachineDeployment.
        kind: &'static str,
        /// Its namespace and name.
        key: String,
    },
}

impl Unready {
    /// Seconds until core should ask again: nearly all of it passes within moments.
    #[must_use]
    pub const fn retry_after(&self) -> u32 {
        match self {
            Self::Starting | Self::OtherVersion | Self::NotUpdated => 1,
            Self::NoMachine | Self::NoOwner { .. } => 5,
        }
    }
}
