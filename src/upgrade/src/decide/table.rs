//! The table: what comes next, by phase and by which system runs.

use super::change::{Change, Move};
use super::situation::{
    Situation,
    System::{New, Old, Other},
};
use super::{arm, bless, comeback, prepare, rollback, safety, trial};
use crate::phase::Phase;
use crate::reason::Reason;
use crate::record::Upgrade;

/// The next move of an upgrade under way.
pub(super) fn by_phase_and_system(up: &Upgrade, s: &Situation<'_>) -> Move {
    use Phase as P;
    match (&up.phase, s.system(up)) {
        (P::Accepted | P::Fetched | P::Verified | P::Deployed | P::Drained, Old) => {
            prepare::prepare(up, s)
        }
        (P::Armed { boot }, Old) if *boot == s.seen.turn.boot => arm::armed(up, s),
        (P::Armed { .. } | P::Trial { .. } | P::Healthy { .. } | P::Blessed, Old) => {
            comeback::after_trial(up, s)
        }
        (P::Reverting { reason }, Old) => rollback::revert(up, reason, s),
        (P::Armed { .. }, New) => Move::look([Change::Enter(s.seen.turn.boot.clone())]),
        (P::Trial { .. }, New) => trial::trial(up, s),
        (P::Healthy { .. }, New) => bless::healthy(up, s),
        (P::Blessed, New) => bless::blessed(up, s),
        (P::Reverting { .. }, New) => rollback::leave(up, s),
        (P::Accepted | P::Fetched | P::Verified | P::Deployed | P::Drained, New) | (_, Other) => {
            unknown_system(s)
        }
        (P::Upgraded | P::Failed { .. } | P::Halted { .. }, Old | New) => Move::wait(),
    }
}

/// A system runs that this upgrade does not know, or knows but never armed.
fn unknown_system(s: &Situation<'_>) -> Move {
    if s.seen.machine.on_trial() {
        return safety::leave_trial(s).into();
    }
    let booted = s.seen.machine.booted.digest.short().to_owned();
    let reason = Reason::UnknownSystem { booted };
    Move::wait().after([Change::Phase(Phase::Halted { reason })])
}
