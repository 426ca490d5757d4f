//! The imports that scenarios share.

pub use std::time::Duration;

pub use anyhow::{Result, ensure};
pub use serde_json::json;
pub use upgrade::names;
pub use upgrade::report::Answer;

pub use crate::scenario::Scenario;
pub use rig::images::DiskKind;
pub use rig::workload;
pub use rig::{Before, Rig, UPGRADE};

/// The unit in which scenarios wait.
pub const MINUTE: Duration = Duration::from_secs(60);
