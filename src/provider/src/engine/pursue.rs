//! A complete wish: the agent's answer to it, and what follows.

use requests::{NodeFacts, StaticPod, verify};
use upgrade::reason::Wait;
use upgrade::report::{Answer as NodeAnswer, Status};

use super::answer::{Answer, Decision, Progress, clean};
use super::ask::unanswered;
use super::facts::Facts;
use super::hurt::is_hurt;
use super::mark::{finished, working};
use super::ready::Ready;
use super::wait::{waits_by_will, within};
use super::why::Why;

pub(super) fn pursue(facts: &Facts<'_>, ready: &Ready<'_>) -> Decision {
    let node = ready.node;
    match node.reply.to(&ready.id) {
        Some((NodeAnswer::Upgraded, _)) => match verify(node, ready.text, pods(facts, node)) {
            Ok(()) => finished(facts, Answer::Done),
            Err(detail) => unverified(facts, ready, Why::Unverified { detail }),
        },
        Some((NodeAnswer::Failed, status)) if !node.reply.was_withdrawn() => {
            failed(facts, ready, Answer::Failed(failure(node, status)))
        }
        Some((NodeAnswer::InProgress, status)) => in_progress(facts, ready, status),
        // A request that was withdrawn and made again keeps its old answer until the agent looks.
        Some((NodeAnswer::Failed, _)) | None => unanswered(facts, ready),
    }
}

/// A hurt member of the control plane is protected, also if its time was over before.
fn failed(facts: &Facts<'_>, ready: &Ready<'_>, answer: Answer) -> Decision {
    if is_hurt(facts, ready.node) {
        working(facts, ready, answer)
    } else {
        finished(facts, answer)
    }
}

/// The static pods that must have the version, on a control plane node.
fn pods<'a>(facts: &'a Facts<'_>, node: &NodeFacts) -> Option<&'a [StaticPod]> {
    let is_one = facts.machine.control_plane || node.control_plane;
    is_one.then_some(facts.control_plane.pods.as_slice())
}

pub(super) fn failure(node: &NodeFacts, status: &Status) -> Why {
    let text = node.failure.as_deref().or(status.reason.as_deref());
    let reason = clean(text.unwrap_or("the agent gave no reason"));
    let code = status.code.as_deref().unwrap_or_default();
    // A condition's reason must have this form, and a node may write anything.
    let fit =
        !code.is_empty() && code.len() < 64 && code.bytes().all(|c| c.is_ascii_alphanumeric());
    Why::Node {
        code: if fit { code } else { "Failed" }.to_owned(),
        reason,
    }
}

/// The cluster does not confirm the agent's final answer. The Machine keeps its turn, and its
/// protection for as long as in any other phase.
fn unverified(facts: &Facts<'_>, ready: &Ready<'_>, why: Why) -> Decision {
    let limit = facts.policy.upgrade_seconds;
    within(facts, ready, limit, Answer::Held(why.clone()), || why)
}

fn in_progress(facts: &Facts<'_>, ready: &Ready<'_>, status: &Status) -> Decision {
    let limit = facts.policy.upgrade_seconds;
    let phase = clean(&status.phase);
    let progress = Progress {
        phase: phase.clone(),
        percent: status.percent.min(99) / 10 * 10,
        reason: status.reason.as_deref().map(clean),
    };
    let answer = Answer::Working(progress);
    if status.code.as_deref().and_then(Wait::of).is_some() {
        return waits_by_will(facts, ready, answer);
    }
    within(facts, ready, limit, answer, || Why::Stalled {
        node: ready.node.name.clone(),
        phase,
        seconds: limit,
    })
}
