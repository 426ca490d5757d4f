//! What an upgrade waits for.

use upgrade::reason::Wait;
use upgrade::report::Status;

use super::case::{Case, Finding, Weight};
use super::{advice, meanwhile};
use crate::cli::BY_HAND;
use crate::duration;
use crate::expected::worked;
use crate::standing::{Standing, is_answered, under_a_pause};
use crate::unaccepted::{last_word, unaccepted};
use crate::view::{Ready, Word};

/// A running agent answers within this many seconds.
const PROMPT: u64 = 30;

/// An upgrade that takes this many times the usual duration gets a finding.
const SLOW: u64 = 2;

/// Why the upgrade reverts, if the agent reports that in addition to what blocks the revert.
pub(super) fn way_back(case: &Case<'_>) -> Option<Finding> {
    let cause = at_work(case)?.reverts_for.as_ref()?;
    Some(Finding {
        weight: Weight::Held,
        what: format!("the node goes back to the old system: {}", cause.reason),
        so: Some(meanwhile::on_the_way_back(&cause.code)),
    })
}

fn at_work<'a>(case: &Case<'a>) -> Option<&'a Status> {
    let status = case.node.reply.status.as_ref();
    status.filter(|_| case.standing == Standing::Working)
}

/// What blocks an upgrade that continues. If the agent reports only one reason, it may be why the
/// upgrade reverts.
pub(super) fn hindrance(case: &Case<'_>) -> Option<Finding> {
    let status = at_work(case)?;
    let reason = status.reason.as_deref()?;
    let code = status.code.as_deref().unwrap_or_default();
    // A pause has its own message, below. Any other reason that a paused node reports still blocks
    // it.
    if Wait::of(code) == Some(Wait::Pause) && case.node.paused.is_some() {
        return None;
    }
    let (what, so) = match &status.reverts_for {
        Some(cause) if cause.reason == reason => return None,
        None if meanwhile::leads_back(case.node.reply.phase(), code) => (
            "the node goes back to the old system",
            Some(meanwhile::on_the_way_back(code)),
        ),
        Some(_) | None => (
            "in the way now",
            meanwhile::in_the_way(code).map(str::to_owned),
        ),
    };
    Some(Finding {
        weight: Weight::Held,
        what: format!("{what}: {reason}"),
        so,
    })
}

/// The agent starts nothing new.
pub(super) fn pause(case: &Case<'_>) -> Option<Finding> {
    let why = case.node.paused.as_ref()?;
    let meaning = under_a_pause(case.node).map(|meaning| format!("; {meaning}"));
    let meaning = meaning.unwrap_or_default();
    Some(Finding {
        weight: Weight::Held,
        what: format!("paused: {why}; nothing new begins{meaning}"),
        so: Some(match (&case.node.leaving, &case.node.unpaused_by) {
            (Some(advice), _) => advice.clone(),
            (None, Some(command)) => format!("if that is not intended, `{command}` removes it"),
            (None, None) => lifting(&case.node.name, why),
        }),
    })
}

/// Keys that nearly match one of Careen's have no effect, except those that look like a pause.
pub(super) fn unknown_keys(case: &Case<'_>) -> Option<Finding> {
    let keys = &case.node.unknown_keys;
    (!keys.is_empty()).then(|| Finding {
        weight: Weight::Note,
        what: format!(
            "the Node has keys that Careen does not know: {}",
            keys.join(", ")
        ),
        so: Some("correct or remove them".to_owned()),
    })
}

/// A pause with its own reason belongs to somebody who may still want it.
fn lifting(node: &str, why: &str) -> String {
    match why {
        BY_HAND => format!("`kubectl careen resume {node}` ends the pause"),
        _ => {
            format!("once that is over, `kubectl careen resume {node} --any-reason` ends the pause")
        }
    }
}

/// The agent has looked at the request, and says why it does not accept it.
pub(super) fn not_taken(case: &Case<'_>) -> Option<Finding> {
    let word = unaccepted(case.node)?;
    Some(Finding {
        weight: Weight::Held,
        what: format!(
            "{}: the request is not accepted yet: {}",
            word.code, word.sentence
        ),
        so: Some(about(word)),
    })
}

fn about(word: &Word) -> String {
    let known = meanwhile::in_the_way(&word.code);
    known.unwrap_or(advice::UNKNOWN.first).to_owned()
}

/// No agent answers.
pub(super) fn no_answer(case: &Case<'_>) -> Option<Finding> {
    if case.standing != Standing::Asked || unaccepted(case.node).is_some() {
        return None;
    }
    let since = case.node.asked.as_ref()?.since.map(duration::seconds);
    let waited = since.map(|since| duration::between(since, case.now));
    Some(match waited {
        Some(waited) if waited <= PROMPT => Finding {
            weight: Weight::Note,
            what: "the request was written just now; an agent answers within seconds".to_owned(),
            so: None,
        },
        Some(waited) => {
            let what = format!("the agent has not answered for {}", duration::short(waited));
            silence(case, Weight::Bad, what)
        }
        None => {
            let what = "the agent has not answered; a running agent answers within seconds";
            silence(case, Weight::Held, what.to_owned())
        }
    })
}

/// An agent that says nothing about the request may have said something before it.
fn silence(case: &Case<'_>, weight: Weight, what: String) -> Finding {
    let silent = who_is_silent(case);
    let (what, so) = match last_word(case.node) {
        Some(word) => (
            format!(
                "{what}; its last message was {}: {}",
                word.code, word.sentence
            ),
            format!("{}; or {silent}", about(word)),
        ),
        None => (what, silent),
    };
    let so = Some(so);
    Finding { weight, what, so }
}

/// The kubelet's silence points to the machine; the agent's past points to the agent.
fn who_is_silent(case: &Case<'_>) -> String {
    let node = case.node;
    if matches!(node.ready, Ready::Unknown(_)) {
        return "its kubelet is silent too: check the machine's power, console and network"
            .to_owned();
    }
    if node.heard.is_some() || node.reply.answer.is_some() {
        return "an agent ran here before: on the node, check `systemctl status careen-agent` and \
                `journalctl -u careen-agent`"
            .to_owned();
    }
    "no agent has ever written to this Node: check that its image has careen-agent and that the unit is enabled \
     (`systemctl status careen-agent` on the node)"
        .to_owned()
}

/// A request that does not have the accepted form, as far as this version knows it.
pub(super) fn malformed(case: &Case<'_>) -> Option<Finding> {
    let asked = case.node.asked.as_ref()?;
    let bad = asked.parsed.as_ref().err()?;
    // An agent that knows more image forms than this version will accept the request.
    if is_answered(case.node) {
        return None;
    }
    Some(Finding {
        weight: Weight::Bad,
        what: format!("the request has a form that this version does not know: {bad}"),
        so: Some("correct the annotation, or ask with `kubectl careen upgrade`".to_owned()),
    })
}

/// The request was withdrawn while the agent served it.
pub(super) fn taken_back(case: &Case<'_>) -> Option<Finding> {
    let node = case.node;
    if case.standing != Standing::Working || node.asked.is_some() {
        return None;
    }
    let what = if node.reply.phase().can_be_withdrawn() {
        "the request was withdrawn: the agent is about to clean up"
    } else {
        "the request was withdrawn too late: the upgrade continues to its own verdict"
    };
    Some(Finding {
        weight: Weight::Note,
        what: what.to_owned(),
        so: None,
    })
}

/// Another request waits.
pub(super) fn behind_another(case: &Case<'_>) -> Option<Finding> {
    let waits =
        case.standing == Standing::Working && case.node.asked.is_some() && !is_answered(case.node);
    let what = "the current request is newer than the upgrade under way: that one stops if it still can, and this one follows";
    waits.then(|| Finding {
        weight: Weight::Note,
        what: what.to_owned(),
        so: None,
    })
}

/// It should have ended by now.
pub(super) fn longer_than_usual(case: &Case<'_>) -> Option<Finding> {
    if case.standing != Standing::Working {
        return None;
    }
    let (taken, usual) = (worked(case.node, case.now)?, case.expected.seconds()?);
    if taken < usual.saturating_mul(SLOW) {
        return None;
    }
    Some(Finding {
        weight: Weight::Held,
        what: format!("the upgrade has taken {} so far; upgrades here usually take {}", duration::short(taken), duration::short(usual)),
        so: Some("every step has a deadline, so the upgrade ends by itself; `journalctl -u careen-agent` on the node shows the step".to_owned()),
    })
}
