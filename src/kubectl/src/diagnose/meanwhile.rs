//! Advice for a reason while its upgrade is still in progress. The advice for a failure describes
//! an end that has not come yet.

use requests::PhaseName;

use super::advice;

/// The codes for which the advice for a failure is not true yet.
const MEANWHILE: &[(&str, &str)] = &[
    (
        "BudgetBlocks",
        "make the application healthy or its budget wider (`kubectl get pdb -A` shows which budget allows no disruption); the drain waits as long as \
         `deadline-seconds` of [drain] in the node's policy allows",
    ),
    // The agent meets it before the end in the rehearsal, and when it releases the node. A refused
    // drain ends the upgrade.
    (
        "DrainRefused",
        "fix the webhook, policy, budgets or right named above, so that the node's own credential may evict its pods and change its Node; \
         the agent tries to remove a cordon until it succeeds",
    ),
    ("ApiAway", GOES_ON),
    ("ApiAwayInTrial", GOES_ON),
];

const GOES_ON: &str =
    "check that the node reaches the API server; the upgrade then continues by itself";

/// What an agent reports about itself in any phase: it could not read the record's state, or could
/// not write the record (`report/hindered.rs` of the brain).
const IN_ANY_PHASE: [&str; 2] = ["RecordUnwritten", "MachineUnseen"];

/// The advice for a blocking reason, by its code.
pub(super) fn in_the_way(code: &str) -> Option<&'static str> {
    let own = MEANWHILE.iter().find(|(known, _)| *known == code);
    own.map(|(_, so)| *so)
        .or_else(|| Some(advice::of(code)?.first))
}

/// Whether a reason is why an upgrade reverts, rather than what blocks it.
pub(super) fn leads_back(phase: PhaseName, code: &str) -> bool {
    phase == PhaseName::Reverting && !IN_ANY_PHASE.contains(&code)
}

/// The advice for the reason of a revert, by its code. For example, the log of a trial is in the
/// previous boot only after the node has left the trial.
pub(super) fn on_the_way_back(code: &str) -> String {
    let wait = "the upgrade ends by itself";
    match advice::of(code) {
        Some(advice) => format!("{wait}; once the phase is Failed: {}", advice.first),
        None => wait.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// What is true only of an end.
    const OF_AN_END: [&str; 6] = [
        "uncordoned",
        "has not rebooted",
        "the trial's journal",
        "is remembered",
        "serves",
        "the request was withdrawn",
    ];

    /// Every reason that is retried can block, except those that only a plan reports. A working
    /// Node also reports: a rehearsal's warning, a refused release, a failed clean-up.
    fn hindrances() -> Vec<String> {
        let page =
            Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../docs/reasons.md");
        let page = std::fs::read_to_string(page).unwrap();
        let rows = page.lines().filter(|line| line.contains(") | retry |"));
        let codes = rows.filter_map(|row| row.split('`').nth(1));
        codes
            .filter(|code| *code != "Busy")
            .chain(["BudgetBlocks", "DrainRefused", "DeployFailed"])
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn what_is_in_the_way_is_never_told_as_an_end_that_has_not_come() {
        let hindrances = hindrances();
        assert!(hindrances.len() > 15, "{hindrances:?}");
        for code in hindrances {
            let so = in_the_way(&code).unwrap();
            for words in OF_AN_END {
                assert!(!so.contains(words), "{code}: {so}");
            }
        }
    }

    #[test]
    fn each_of_its_own_texts_is_of_a_reason_that_there_is() {
        for (code, _) in MEANWHILE {
            assert!(advice::of(code).is_some(), "{code}");
        }
        for code in IN_ANY_PHASE {
            assert!(advice::of(code).is_some(), "{code}");
        }
    }

    #[test]
    fn unwritten_record_is_a_hindrance_even_while_reverting() {
        assert!(leads_back(PhaseName::Reverting, "Unhealthy"));
        assert!(!leads_back(PhaseName::Reverting, "RecordUnwritten"));
        assert!(!leads_back(PhaseName::Deployed, "BudgetBlocks"));
    }
}
