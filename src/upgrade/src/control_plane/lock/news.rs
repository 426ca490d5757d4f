//! What a Node says about the upgrade that holds a lock.

use serde::Deserialize;

use crate::id::UpgradeId;
use crate::phase::Phase;
use crate::sanitize;

/// No text of a status is longer that decides here.
const TEXT: usize = 240;

/// What is known of the upgrade of a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The cluster has no such Node.
    Gone,
    /// The Node names no upgrade. Nothing follows from that: it may have just come back.
    Nothing,
    /// An upgrade is under way there, or has halted.
    Going(UpgradeId),
    /// An upgrade has ended there, and its agent has released what it held.
    Ended(UpgradeId),
}

/// The two fields that decide. Everything else may change in another version.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    id: Option<String>,
    phase: String,
}

impl News {
    /// Reads the value of `careen.dev/status` of a Node that exists.
    #[must_use]
    pub fn of(status: Option<&str>) -> Self {
        let read = status.and_then(|text| sanitize::from_json(text, TEXT).ok());
        let Status { id, phase } = read.unwrap_or_default();
        match id.and_then(|id| id.parse().ok()) {
            Some(id) => Self::in_phase(id, &phase),
            None => Self::Nothing,
        }
    }

    /// A request that was refused never became an upgrade, and nothing is known of a phase of
    /// another version. Neither says that an earlier upgrade is over.
    fn in_phase(id: UpgradeId, phase: &str) -> Self {
        match phase {
            "Upgraded" | "Failed" => Self::Ended(id),
            _ if Phase::NAMES.contains(&phase) => Self::Going(id),
            _ => Self::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;
    use crate::phase::Class;

    fn of(id: &str, phase: &str) -> News {
        let status = json!({ "id": id, "phase": phase, "percent": 7, "moon": "full" });
        News::of(Some(&status.to_string()))
    }

    #[test]
    fn each_phase_is_under_way_but_for_the_two_ends() {
        for name in Phase::NAMES {
            let written = json!({ "name": name, "boot": "0", "reason": { "code": "Withdrawn" } });
            let phase: Phase = from_value(written).unwrap();
            let id: UpgradeId = "7".parse().unwrap();
            // A control plane that has halted keeps its lock until a person has looked.
            let expected = match phase.class() {
                Class::Upgraded | Class::Failed { .. } => News::Ended(id),
                Class::Preparing
                | Class::Trying { .. }
                | Class::Blessed
                | Class::Reverting { .. }
                | Class::Halted { .. } => News::Going(id),
            };
            assert_eq!(of("7", phase.name()), expected, "{name}");
        }
    }

    #[test]
    fn what_names_no_upgrade_says_nothing() {
        assert_eq!(of("7", "Refused"), News::Nothing);
        assert_eq!(of("7", "Polished"), News::Nothing);
        assert_eq!(of("a/b", "Trial"), News::Nothing);
        for text in ["", "[]", "{}", "null", r#"{"phase":"Failed"}"#, "{\"id\":"] {
            assert_eq!(News::of(Some(text)), News::Nothing, "{text:?}");
        }
        assert_eq!(News::of(None), News::Nothing);
    }
}
