//! Bringing the image, once or again.

use super::change::{Change, Move};
use super::give_back::{before_the_drain, way_back};
use super::signatures;
use super::situation::Situation;
use crate::phase::Phase;
use crate::record::Upgrade;
use crate::step::Step;
use crate::target::{Target, Wanted};

/// From where it was asked for: after an arming the target no longer says so.
pub(super) fn fetch(up: &Upgrade, s: &Situation<'_>) -> Move {
    let goes_on = matches!(up.intent, Some(Step::Fetch { .. }));
    begin(up).after(signatures::note(up, goes_on, s))
}

/// No layer comes a second time. Users have the node while a registry is asked.
pub(super) fn again(up: &Upgrade, s: &Situation<'_>) -> Move {
    let back = way_back(up, s);
    let drain_again = before_the_drain(up, back.as_ref());
    let next = match back {
        Some(first) => first,
        None => begin(up).after(from_the_start(up, s)),
    };
    next.after(drain_again)
}

/// A deployment that exists is made again after that.
fn from_the_start(up: &Upgrade, s: &Situation<'_>) -> Vec<Change> {
    let deployed = up.to.is_some().then_some(Change::DeployAgain);
    let start = [Change::Phase(Phase::Accepted), Change::Intent(None)];
    let note = signatures::note(up, false, s);
    deployed.into_iter().chain(start).chain(note).collect()
}

fn begin(up: &Upgrade) -> Move {
    let target = match up.wanted() {
        Wanted::Image(asked) => Target {
            commit: up.target.commit.clone(),
            ..asked
        },
        Wanted::Kept => up.target.clone(),
    };
    Move::begin(Step::Fetch { target })
}
