//! The first step for each reason, by its code. The table of reasons has it; this file adds what is
//! in no row.

use upgrade::reason::{Advice, Row, Then};

/// For a code that only a newer agent knows.
pub const UNKNOWN: Advice = Advice::new(
    "this version of kubectl careen does not know that reason: read the page of reasons in the docs of the agent's version",
    Then::Retry,
);

/// For an upgrade that succeeded, after which the previous system runs again.
pub const OVERTAKEN: Advice = Advice::new(
    "the new system is still the default (`ostree admin status` on the node shows it), so reboot into it; if the node boots the former system \
     once more, the new one's kernel or boot entry is damaged (see `journalctl -b` and the console): ask for another image",
    Then::Nothing,
);

/// The advice for the reason with this code.
#[must_use]
pub fn of(code: &str) -> Option<Advice> {
    Row::of(code).map(|row| row.advice)
}

#[cfg(test)]
mod tests;
