//! The boot loader honours a one-shot entry.

use host::boot::loader_fitness;
use upgrade::Reason;

use super::{Finding, Patient};

/// By the very code that refuses a request.
pub(super) fn loader(patient: &Patient) -> Finding {
    const NAME: &str = "loader";
    match loader_fitness(&patient.places, &patient.kernel) {
        Ok(()) => Finding::ok(NAME, "GRUB boots an entry once and clears it by itself"),
        Err(Reason::LoaderUnfit { detail }) => Finding::bad(
            NAME,
            detail,
            "docs/bootloader.md has what GRUB must do, and where /boot may lie",
        ),
        Err(other) => Finding::bad(NAME, other.to_string(), "docs/bootloader.md"),
    }
}
