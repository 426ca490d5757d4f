//! Conditions in the form of the contract.

use infrastructure::Word;
use k8s_openapi::jiff::Timestamp;

use crate::catalogue::Condition;
use crate::names;

/// The reason of a condition that nothing is known of yet.
const UNKNOWN: &str = "NotReached";

/// The conditions of an object, with these words. Others stay as they are. A time changes only with
/// its status.
#[must_use]
pub fn conditions(
    before: &[Condition],
    words: &[(&'static str, Word)],
    (code, message): (&str, &str),
) -> Vec<Condition> {
    let mut all = before.to_vec();
    for (kind, word) in words {
        if *word == Word::True && is_upgrading(before, kind) {
            continue;
        }
        // A pause is the only one of them that is bad news when it holds.
        let explained = (*word == Word::True) == (*kind == "Paused");
        let (status, reason, message) = match word {
            Word::True if explained => ("True", code, message),
            Word::True => ("True", *kind, ""),
            Word::False if explained => ("False", code, message),
            Word::False => ("False", "NotPaused", ""),
            Word::Unknown => ("Unknown", UNKNOWN, ""),
        };
        set(&mut all, kind, (status, reason, message));
    }
    all
}

/// The annotation flow says so while it upgrades the node, and takes it back itself.
fn is_upgrading(before: &[Condition], kind: &str) -> bool {
    let is_it = |one: &Condition| one.kind == kind && one.reason == names::READY_REASON;
    kind == names::READY && before.iter().any(is_it)
}

fn set(all: &mut Vec<Condition>, kind: &str, (status, reason, message): (&str, &str, &str)) {
    let place = all.iter().position(|one| one.kind == kind);
    let since = place
        .filter(|place| all[*place].status == status)
        .map_or_else(now, |place| all[place].last_transition_time.clone());
    let new = Condition {
        kind: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition_time: since,
    };
    match place {
        Some(place) => all[place] = new,
        None => all.push(new),
    }
}

fn now() -> String {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second())
        .unwrap_or(now)
        .to_string()
}
