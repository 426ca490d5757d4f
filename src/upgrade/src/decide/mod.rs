//! The table: record × observation → decision.

mod decision;

pub use decision::{Act, Decision, Journal};

use crate::observe::Observation;
use crate::policy::PolicyRead;
use crate::reason::Reason;
use crate::record::Record;

/// What was read of the record: an absent one is `Ok(Record::default())`, an unreadable one is the reason to halt.
pub type RecordRead = Result<Record, Reason>;
