//! Hundreds of power cuts on the real machine. The rig records every write and flush of the disk
//! during an upgrade, and during one that falls back. Then it builds the disk as a cut at any point
//! would leave it: with all, some or none of the writes that were not flushed. Then it powers the
//! node on.
//!
//! The node must boot a system that was known to be good and finish on its own, Ready and
//! schedulable, with a correct answer. A cut costs a boot, not an upgrade.

mod cut;
mod folder;
mod judge;
mod lane;
mod marks;
mod missed;
mod page;
mod place;
mod plan;
mod record;
mod recording;
mod report;
mod run;
mod totals;
mod way;

pub use lane::{cut_for_a_lane, record_for_a_lane};
pub use run::{Soak, run};
