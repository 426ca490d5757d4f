//! The boot entries and deployments on the disk, read without libostree: it refuses to load a sysroot whose /boot has gone
//! back in time, and the initramfs has no libostree.

mod entries;
mod fitness;
mod installed;
pub mod menu;
pub mod script;

pub use entries::{Entry, Link, entries};
pub use fitness::{loader_fitness, loader_fitness_on};
pub use installed::{Installed, booted, default_first, deployments, is_staged, linked};
