//! The D-Bus calls that Careen makes to systemd and logind, and a service's notifications to
//! systemd.
//!
//! The agent and the installer share it. The few calls are declared here and not taken from a crate
//! (docs/decisions.md says why).

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![deny(clippy::wildcard_enum_match_arm)]

mod active;
mod bus;
mod failed_units;
mod limits;
mod notify;
mod proxies;
mod state;

pub use bus::{BootTimes, Bus, Made, Service};
pub use failed_units::Fallen;
pub use notify::{Notify, watchdog};
pub use proxies::{JobRemovedStream, LoginProxy, PrepareForShutdownStream, Property};
pub use state::ActiveState;
pub use zbus::{Error, OwnedFd, Result, Variant};
