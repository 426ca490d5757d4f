//! Writes and clears the boot loader's one-shot entry.

use host::loader::{self, Aim};
use host::{Error, Places};
use upgrade::{Deployment, Reason};

/// Writes the one-shot entry for this deployment.
///
/// # Errors
/// [`Reason::ArmFailed`], or why the menu does not have the deployment.
pub fn arm(places: &Places, deployment: &Deployment) -> Result<(), Reason> {
    aim(places, Aim::Trial(deployment))
}

/// Clears the one-shot entry.
///
/// # Errors
/// [`Reason::ArmFailed`].
pub fn disarm(places: &Places) -> Result<(), Reason> {
    aim(places, Aim::Default)
}

fn aim(places: &Places, aim: Aim<'_>) -> Result<(), Reason> {
    make_boot_writable(places);
    loader::aim(places, aim).map_err(|error| match error {
        Error::Reason(reason) => reason,
        Error::Io { .. } | Error::Damaged { .. } | Error::Untrusted(_) => Reason::ArmFailed {
            detail: error.to_string(),
        },
    })
}

/// An automount may have mounted /boot read-only again since the agent started. If the mount stays
/// read-only, the write fails with that error.
fn make_boot_writable(places: &Places) {
    if let Err(error) = host::mounts::make_writable(&places.boot) {
        tracing::warn!("{error}");
    }
}
