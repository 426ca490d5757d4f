//! The boot entries and deployments on the disk, read without libostree. libostree refuses a
//! sysroot whose /boot has gone back in time, and the initramfs does not have it.

mod entries;
mod installed;
mod local;

pub use entries::{Entry, Link, entries};
pub use installed::{Installed, booted, default_first, deployments, is_staged, linked};
pub use local::changes as local_changes;
