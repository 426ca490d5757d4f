//! Writing the new deployment beside the running one, once or again.

use super::change::{Change, Move};
use super::situation::Situation;
use crate::progress::Upgrade;
use crate::reason::Reason;
use crate::record::Signatures;
use crate::step::Step;

/// The deployment asks for signatures by the present policy. A run that a killed agent began asked
/// by the policy of then, and the note of that stays.
pub(super) fn deploy(up: &Upgrade, s: &Situation<'_>) -> Move {
    let Some(commit) = up.target.commit.clone() else {
        return Move::wait();
    };
    let goes_on = matches!(up.intent, Some(Step::Deploy { .. })) && up.signatures.is_some();
    let note = (!goes_on).then(|| Change::Signatures(Signatures::from(s.policy)));
    Move::begin(Step::Deploy { commit }).after(note)
}

/// Over a deployment that may be there still or gone already.
pub(super) fn again(up: &Upgrade, s: &Situation<'_>) -> Move {
    deploy(up, s).after([Change::DeployAgain])
}

/// On a drained node: /etc has changed since the deployment, or somebody has removed the pin of the
/// old system, which is set with each deployment. This happens a bounded number of times.
pub(super) fn again_when_drained(up: &Upgrade, s: &Situation<'_>) -> Move {
    if up.redo.deployed >= s.policy.tries {
        return Move::give_up(keeps_changing(up.redo.deployed, s));
    }
    again(up, s).after([Change::CountDeployment])
}

fn keeps_changing(times: u32, s: &Situation<'_>) -> Reason {
    if s.seen.etc_stale {
        let detail = format!(
            "something keeps changing it: it was other than before after each of {times} deployments in a row; find out what writes there"
        );
        return Reason::EtcMerge { detail };
    }
    Reason::DeployFailed {
        verb: "deploy".to_owned(),
        detail: format!(
            "something keeps taking the pin off the running system, which a trial falls back to: it was gone after each of {times} deployments in a row; find out what runs `ostree admin pin --unpin`"
        ),
    }
}
