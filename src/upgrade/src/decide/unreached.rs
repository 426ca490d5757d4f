//! A trial that ends while the API server is away. An outage is judged for each trial by itself,
//! and blames no image: neither of a server that was reached and went away, nor of one that a system
//! with a network did not reach. Only a system without a network shows a cause, if it lacks one in
//! two trials in a row, and the old system reached the server in between.

use super::change::Change;
use super::situation::Situation;
use crate::reason::Reason;
use crate::record::Upgrade;

/// The note that the new system reaches the API server in this boot.
pub(super) fn reached(up: &Upgrade, s: &Situation<'_>) -> Option<Change> {
    let due = s.reached && !was_reached(up, s);
    due.then(|| Change::NewReached(s.seen.turn.boot.clone()))
}

fn was_reached(up: &Upgrade, s: &Situation<'_>) -> bool {
    up.api.from_new.as_ref() == Some(&s.seen.turn.boot)
}

/// The verdict on the new system, if there is one. `again` is what this trial shows by itself once
/// the old system has reached the server.
pub(super) fn verdict(up: &Upgrade, again: Option<Reason>, s: &Situation<'_>) -> Option<Reason> {
    again
        .filter(|_| up.api.compared)
        .or_else(|| of_the_image(up, s))
}

/// One trial without a network may be a cable that is out, or a switch that restarts.
fn of_the_image(up: &Upgrade, s: &Situation<'_>) -> Option<Reason> {
    let lack = s.seen.turn.network.as_ref().err()?;
    let had_none = up.api.compared && up.api.unconnected && up.api.from_new.is_none();
    had_none.then(|| Reason::NoApiFromNewSystem {
        seen: format!("{lack}, in two trials, and the old system reached the server in between"),
    })
}

/// What the record keeps of a trial without a verdict.
pub(super) fn notes(up: &Upgrade, s: &Situation<'_>) -> [Change; 2] {
    let unconnected = s.seen.turn.network.is_err();
    let reason = Reason::ApiAwayInTrial {
        seconds: s.seen.turn.now.0 / 1000,
        seen: seen(up, s),
    };
    [
        Change::Unreached { unconnected },
        Change::GiveUpTrial(reason),
    ]
}

/// What the trial saw, for a person.
fn seen(up: &Upgrade, s: &Situation<'_>) -> String {
    let whether = if was_reached(up, s) {
        "the new system reached the API server in this trial and then lost it"
    } else {
        "the new system did not reach the API server, or the server did not have this Node"
    };
    match &s.seen.turn.network {
        Err(lack) => format!("{whether}: {lack}"),
        Ok(()) => format!("{whether}; the node lacks nothing on its own way to it"),
    }
}
