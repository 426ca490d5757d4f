//! Writing the new deployment beside the running one, once or again.

use super::change::{Change, Move};
use super::signatures;
use super::situation::Situation;
use crate::reason::Reason;
use crate::record::Upgrade;
use crate::step::Step;

/// The deployment, which asks for signatures by the present policy.
pub(super) fn deploy(up: &Upgrade, s: &Situation<'_>) -> Move {
    let Some(commit) = up.target.commit.clone() else {
        return Move::wait();
    };
    let goes_on = matches!(up.intent, Some(Step::Deploy { .. }));
    Move::begin(Step::Deploy { commit }).after(signatures::note(up, goes_on, s))
}

/// Over a deployment that may be there still or gone already.
pub(super) fn again(up: &Upgrade, s: &Situation<'_>) -> Move {
    deploy(up, s).after([Change::DeployAgain])
}

/// Before the node is taken, and again when it is drained: /etc has changed since the deployment,
/// or somebody has removed the pin of the old system, which is set with each deployment. This
/// happens a bounded number of times. An /etc that never rests uses them up before the drain.
pub(super) fn again_while_etc_changes(up: &Upgrade, s: &Situation<'_>) -> Move {
    if up.redo.deployed >= s.policy.tries {
        return Move::give_up(keeps_changing(up.redo.deployed, s));
    }
    again(up, s).after([Change::CountDeployment])
}

fn keeps_changing(times: u32, s: &Situation<'_>) -> Reason {
    if s.seen.machine.etc_stale {
        let changed = s.seen.machine.etc_changed.as_deref().unwrap_or("it");
        let detail = format!(
            "something keeps changing {changed}: /etc still differed after {times} more deployments; find the program that writes there"
        );
        return Reason::EtcMerge { detail };
    }
    Reason::DeployFailed {
        verb: "deploy".to_owned(),
        detail: format!(
            "something keeps removing the pin of the running system, which a trial falls back to: the pin was missing after {times} deployments in a row; find what runs `ostree admin pin --unpin`"
        ),
    }
}
