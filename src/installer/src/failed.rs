//! Why an action of the installer failed.

use thiserror::Error;

use crate::look::Blind;
use crate::systemd::Refused;

/// Why an action failed.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say it
pub enum Failed {
    #[error("an upgrade has just begun. Waiting until it ends")]
    Overtaken,
    #[error(
        "not enough room below {place}: {free} bytes are free, {wanted} are needed. Make room; until then nothing changes"
    )]
    NoRoom {
        place: String,
        free: u64,
        wanted: u64,
    },
    #[error(transparent)]
    Blind(#[from] Blind),
    #[error(transparent)]
    Host(#[from] host::Error),
    #[error(transparent)]
    Systemd(#[from] Refused),
}
