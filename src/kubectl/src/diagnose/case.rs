//! The input of a finding, and the finding.

use requests::PhaseName;
use serde::Serialize;

use crate::expected::Expected;
use crate::standing::Standing;
use crate::view::NodeView;

/// The input of a finding.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The node.
    pub node: &'a NodeView,
    /// Its state.
    pub standing: Standing,
    /// Seconds since 1970.
    pub now: u64,
    /// The statistics of past upgrades.
    pub expected: &'a Expected,
}

impl Case<'_> {
    /// Whether the upgrade succeeded and the previous system runs nevertheless.
    pub(super) fn is_overtaken(&self) -> bool {
        self.standing == Standing::Failed && self.node.reply.phase() == PhaseName::Upgraded
    }
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Weight {
    /// Something is wrong.
    Bad,
    /// Something waits, perhaps for a person.
    Held,
    /// For information.
    Note,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its severity.
    pub weight: Weight,
    /// The description.
    pub what: String,
    /// The advice.
    pub so: Option<String>,
}
