//! The phase that a status names. The node may run another version, so any word is possible.

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error;

/// A phase, as a status names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[allow(missing_docs)] // upgrade::Phase explains each; a test holds both together.
pub enum PhaseName {
    Accepted,
    Fetched,
    Verified,
    Deployed,
    Drained,
    Armed,
    Trial,
    Healthy,
    Blessed,
    Upgraded,
    Reverting,
    Failed,
    Halted,
    /// A request that never became an upgrade.
    Refused,
    /// A word that this version does not know.
    #[serde(other)]
    Other,
}

impl PhaseName {
    /// The phase of this name.
    #[must_use]
    pub fn of(word: &str) -> Self {
        let read: Result<_, Error> = Self::deserialize(word.into_deserializer());
        read.unwrap_or(Self::Other)
    }

    /// Whether a withdrawn request still stops the upgrade. For an unknown phase the answer is no.
    #[must_use]
    pub const fn can_be_withdrawn(self) -> bool {
        matches!(
            self,
            Self::Accepted | Self::Fetched | Self::Verified | Self::Deployed | Self::Drained
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};
    use upgrade::Phase;

    #[test]
    fn each_phase_of_an_agent_is_known_and_withdrawn_alike() {
        for name in Phase::NAMES {
            let written = json!({ "name": name, "boot": "0", "reason": { "code": "Withdrawn" } });
            let phase: Phase = from_value(written).unwrap();
            let seen = PhaseName::of(phase.name());
            assert_ne!(seen, PhaseName::Other, "{name}");
            assert_eq!(seen.can_be_withdrawn(), phase.can_be_withdrawn(), "{name}");
        }
    }

    #[test]
    fn a_word_of_a_newer_version_is_no_promise() {
        assert_eq!(PhaseName::of("Polished"), PhaseName::Other);
        assert!(!PhaseName::of("Polished").can_be_withdrawn());
    }
}
