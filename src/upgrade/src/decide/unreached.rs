//! A trial that ends while the API server is away. The old system, which runs next, shows whether
//! the server answers. The image is to blame if the new system reached no server in any trial, and
//! the old one reached it in between. A server that some trial reached has gone away by itself.

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
    let shown = again.or_else(|| of_the_image(up, s));
    shown.filter(|_| up.api.compared)
}

/// One trial without a server may be an outage, a cable that is out, or a switch that restarts.
fn of_the_image(up: &Upgrade, s: &Situation<'_>) -> Option<Reason> {
    let never = up.api.from_new.is_none();
    never.then(|| Reason::NoApiFromNewSystem {
        seen: format!(
            "{}; the old system reached it since the trial before",
            seen(up, s)
        ),
    })
}

/// What the record keeps of a trial without a verdict. A system without a network, which never
/// reached the server, says nothing of that server.
pub(super) fn notes(up: &Upgrade, s: &Situation<'_>) -> [Change; 2] {
    let seen = seen(up, s);
    let reason = if s.seen.turn.network.is_err() && up.api.from_new.is_none() {
        Reason::NoApiFromNewSystem { seen }
    } else {
        let seconds = s.seen.turn.now.0 / 1000;
        Reason::ApiAwayInTrial { seconds, seen }
    };
    [Change::Unreached, Change::GiveUpTrial(reason)]
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
