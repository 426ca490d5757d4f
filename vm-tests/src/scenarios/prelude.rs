//! The imports that scenarios share.

pub use std::time::Duration;

pub use anyhow::{Result, ensure};
pub use serde_json::json;
pub use upgrade::names;
pub use upgrade::report::Answer;

pub use crate::images::DiskKind;
pub use crate::rig::{Before, Rig, UPGRADE};
pub use crate::scenario::Scenario;
pub use crate::workload;

/// The unit in which scenarios wait.
pub const MINUTE: Duration = Duration::from_secs(60);
