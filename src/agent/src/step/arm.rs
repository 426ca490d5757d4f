//! The one-shot entry of the boot loader: written, and cleared.

use host::{Error, Places, boot, grubenv};
use upgrade::{Deployment, Reason};

/// Writes the one-shot entry for this deployment.
///
/// # Errors
/// [`Reason::ArmFailed`], or why the menu does not have the deployment.
pub fn arm(places: &Places, deployment: &Deployment) -> Result<(), Reason> {
    let position = boot::menu::position(places, deployment).map_err(|error| match error {
        Error::Reason(reason) => reason,
        Error::Io { .. } | Error::Damaged { .. } | Error::Untrusted(_) => failed(&error),
    })?;
    write(places, Some(position))
}

/// Clears the one-shot entry.
///
/// # Errors
/// [`Reason::ArmFailed`].
pub fn disarm(places: &Places) -> Result<(), Reason> {
    write(places, None)
}

fn write(places: &Places, position: Option<usize>) -> Result<(), Reason> {
    make_boot_writable(places);
    grubenv::write_next_entry(&places.grubenv(), position).map_err(|error| failed(&error))
}

/// An automount may have mounted /boot read-only again since the agent has started. If the mount
/// stays as it is, the write fails and says so.
fn make_boot_writable(places: &Places) {
    if let Err(error) = host::mounts::make_writable(&places.boot) {
        tracing::warn!("{error}");
    }
}

fn failed(error: &Error) -> Reason {
    Reason::ArmFailed {
        detail: error.to_string(),
    }
}
