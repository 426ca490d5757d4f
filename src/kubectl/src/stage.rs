//! The phase that a status names. A status comes from a node that may run another version, so any word is possible.

/// A phase as a status names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // They are upgrade::Phase's, where each is explained; a test holds both together.
pub enum Stage {
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
    Other,
}

/// Each with its word.
const WORDS: [(&str, Stage); 14] = [
    ("Accepted", Stage::Accepted),
    ("Fetched", Stage::Fetched),
    ("Verified", Stage::Verified),
    ("Deployed", Stage::Deployed),
    ("Drained", Stage::Drained),
    ("Armed", Stage::Armed),
    ("Trial", Stage::Trial),
    ("Healthy", Stage::Healthy),
    ("Blessed", Stage::Blessed),
    ("Upgraded", Stage::Upgraded),
    ("Reverting", Stage::Reverting),
    ("Failed", Stage::Failed),
    ("Halted", Stage::Halted),
    ("Refused", Stage::Refused),
];

impl Stage {
    /// The phase of this name.
    #[must_use]
    pub fn of(word: &str) -> Self {
        let found = WORDS.iter().find(|(known, _)| *known == word);
        found.map_or(Self::Other, |(_, stage)| *stage)
    }

    /// Whether a withdrawn request still stops the upgrade. Of an unknown phase nothing is promised.
    #[must_use]
    pub const fn can_be_withdrawn(self) -> bool {
        matches!(
            self,
            Self::Accepted | Self::Fetched | Self::Verified | Self::Deployed | Self::Drained
        )
    }

    /// What goes on in it.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Accepted => "the request is taken; the image is being fetched",
            Self::Fetched => "the image is on the node and is being verified",
            Self::Verified => "the image may run here and is being deployed",
            Self::Deployed => "the new system is deployed; the node is being drained",
            Self::Drained => "the pods are gone; the trial boot is being armed",
            Self::Armed => "one trial boot is armed; the node is about to reboot",
            Self::Trial => "the new system runs on trial and is being checked",
            Self::Healthy => "the new system is healthy and is being made the default",
            Self::Blessed => "the new system is the default; the node is being uncordoned",
            Self::Upgraded => "the new system is proven and the default",
            Self::Reverting => "on the way back to the old system",
            Self::Failed => "the old system runs and takes pods",
            Self::Halted => "nothing continues by itself: a person must look",
            Self::Refused => "refused before anything was changed; the old system runs",
            Self::Other => "a phase that this version of kubectl careen does not know",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use upgrade::{BootId, Phase, Reason};

    fn phases() -> Vec<Phase> {
        let boot: BootId = "0".parse().unwrap();
        let reason = Reason::Withdrawn;
        vec![
            Phase::Accepted,
            Phase::Fetched,
            Phase::Verified,
            Phase::Deployed,
            Phase::Drained,
            Phase::Armed { boot: boot.clone() },
            Phase::Trial { boot: boot.clone() },
            Phase::Healthy { boot },
            Phase::Blessed,
            Phase::Upgraded,
            Phase::Reverting {
                reason: reason.clone(),
            },
            Phase::Failed {
                reason: reason.clone(),
            },
            Phase::Halted { reason },
        ]
    }

    #[test]
    fn every_phase_that_an_agent_names_is_known_and_withdrawn_alike() {
        for phase in phases() {
            let stage = Stage::of(phase.name());
            assert_ne!(stage, Stage::Other, "{}", phase.name());
            assert_eq!(
                stage.can_be_withdrawn(),
                phase.can_be_withdrawn(),
                "{}",
                phase.name()
            );
        }
    }

    #[test]
    fn a_word_of_a_newer_version_is_no_promise() {
        assert_eq!(Stage::of("Polished"), Stage::Other);
        assert!(!Stage::of("Polished").can_be_withdrawn());
    }
}
