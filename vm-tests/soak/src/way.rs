//! The two recorded ways: an upgrade to its blessing, and one to a bad image, through its trial and
//! back.

use std::fmt;

use serde::{Deserialize, Serialize};
use upgrade::report::Answer;

/// The upgrade that is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Way {
    /// To a good image. It ends blessed.
    Upgrade,
    /// To a bad one. It ends in the old system.
    Fallback,
}

impl Way {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Upgrade, Self::Fallback];

    /// The requested image.
    #[must_use]
    pub const fn image(self) -> &'static str {
        match self {
            Self::Upgrade => "v2",
            Self::Fallback => "kubelet-crash",
        }
    }

    /// The operator's policy. It allows one trial: a node that lost power in it falls back at once,
    /// and a cut costs one boot. The bad image is judged as soon as its kubelet has had the time
    /// that a good one takes.
    #[must_use]
    pub const fn policy(self) -> &'static str {
        match self {
            Self::Upgrade => "trials = 1",
            Self::Fallback => "trials = 1\n[health]\ndeadline-seconds = 90",
        }
    }

    /// The phases that it passes without a cut, as the Node spells them.
    #[must_use]
    pub const fn phases(self) -> &'static [&'static str] {
        match self {
            Self::Upgrade => &[
                "Accepted", "Fetched", "Verified", "Deployed", "Drained", "Armed", "Trial",
                "Healthy", "Blessed", "Upgraded",
            ],
            Self::Fallback => &[
                "Accepted",
                "Fetched",
                "Verified",
                "Deployed",
                "Drained",
                "Armed",
                "Trial",
                "Reverting",
                "Failed",
            ],
        }
    }

    /// Whether a phase is this one of the way's or comes after it. A phase outside the way, such as
    /// a mere request, does not count.
    #[must_use]
    pub fn has_come_to(self, wanted: &str, phase: &str) -> bool {
        let place = |name: &str| self.phases().iter().position(|known| *known == name);
        place(phase).is_some_and(|at| Some(at) >= place(wanted))
    }

    /// The answer without a cut.
    #[must_use]
    pub const fn answer(self) -> Answer {
        match self {
            Self::Upgrade => Answer::Upgraded,
            Self::Fallback => Answer::Failed,
        }
    }

    /// The reason why the bad image fails after its trial.
    #[must_use]
    pub const fn verdict(self) -> Option<&'static str> {
        match self {
            Self::Upgrade => None,
            Self::Fallback => Some("Unhealthy"),
        }
    }

    /// The name of its folder and its name in the report.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Upgrade => "upgrade",
            Self::Fallback => "fallback",
        }
    }

    /// The way with this name.
    #[must_use]
    pub fn called(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|way| way.name() == name)
    }
}

impl fmt::Display for Way {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not write_str, which ignores the width.
        to.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_back_to_its_way() {
        for way in Way::ALL {
            assert_eq!(Way::called(way.name()), Some(way));
        }
        assert_eq!(Way::called("sideways"), None);
    }

    #[test]
    fn a_way_has_come_to_a_phase_in_it_and_in_all_behind_it() {
        let way = Way::Fallback;
        assert!(way.has_come_to("Trial", "Trial") && way.has_come_to("Trial", "Reverting"));
        for before in ["", "Fetched", "Armed"] {
            assert!(!way.has_come_to("Trial", before), "{before}");
        }
    }

    #[test]
    fn way_has_only_known_phases_and_ends_with_its_answer() {
        for way in Way::ALL {
            let known = |phase: &&str| upgrade::Phase::NAMES.contains(phase);
            assert!(way.phases().iter().all(known), "{way}");
            assert_eq!(way.phases().last(), Some(&way.answer().as_str()), "{way}");
        }
    }
}
