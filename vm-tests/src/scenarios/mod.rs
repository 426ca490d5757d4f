//! The scenarios, one file each; the name of the file is the name of the scenario.

use crate::scenario::Scenario;

/// All of them, the core first, in the order in which `all` runs them.
pub const ALL: &[Scenario] = &[];
