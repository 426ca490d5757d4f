//! While a step runs: whether it is stopped.

use super::change::Move;
use super::decision::Act;
use super::situation::Situation;
use super::withdrawn::called_off;
use super::{hours, trial};
use crate::record::Upgrade;
use crate::step::Step;

/// A withdrawn request, or another Node, stops what can be stopped. A step inside libostree's swap
/// runs to its end.
pub(super) fn while_running(step: &Step, up: Option<&Upgrade>, s: &Situation<'_>) -> Move {
    let Some(up) = up else { return Move::wait() };
    if is_stoppable(step) && called_off(up, s.seen).is_some() {
        return Act::Cancel.into();
    }
    if *step == Step::Kubeadm {
        return trial::while_kubeadm(up, s);
    }
    if hours::takes(step) {
        return hours::while_taking(s).into();
    }
    Move::wait()
}

const fn is_stoppable(step: &Step) -> bool {
    let looks = matches!(
        step,
        Step::Fetch { .. } | Step::Verify { .. } | Step::Rehearse
    );
    looks || hours::takes(step)
}
