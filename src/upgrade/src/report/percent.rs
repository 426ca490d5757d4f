//! The progress of an upgrade as one number.

use crate::phase::Phase;

/// Where a phase begins on the way from 0 to 100, and how much of it the current step covers. The
/// sizes are the shares of a whole upgrade that each phase took on the rig; good enough to show
/// progress.
pub(super) fn percent(phase: &Phase, within: u8) -> u8 {
    let (begin, span): (u8, u8) = match phase {
        Phase::Accepted => (0, 15),
        Phase::Fetched => (15, 5),
        Phase::Verified => (20, 15),
        Phase::Deployed => (35, 15),
        Phase::Drained => (50, 5),
        Phase::Armed { .. } => (55, 5),
        Phase::Trial { .. } => (60, 25),
        Phase::Healthy { .. } => (85, 10),
        Phase::Blessed => (95, 4),
        Phase::Reverting { .. } => (90, 9),
        Phase::Upgraded | Phase::Failed { .. } | Phase::Halted { .. } => (100, 0),
    };
    let covered = u32::from(span) * u32::from(within.min(100)) / 100;
    begin + u8::try_from(covered).unwrap_or(0)
}
