//! The promises for a run at rest (I6, I7).

use upgrade::{Phase, Record, Upgrade};

use crate::cast::{self, Ask, OWN};
use crate::machine::answer;
use crate::promises::is_unlike;
use crate::world::{Answer, GrubEnv, Pc, State};

/// The error in this state at rest (I6, I7).
#[must_use]
pub fn unrest(state: &State) -> Option<&'static str> {
    let Pc::Waits(None) = state.pc else {
        return Some("I2: a boot ends in an agent that waits, not in nothing");
    };
    let record = state.disk.record.record();
    let Some(up) = &record.upgrade else {
        return unanswered(state, record);
    };
    let halted = matches!(up.phase, Phase::Halted { .. });
    let default = state.disk.menu.first().copied();
    let own = default.is_some_and(|one| one.letter == OWN.letter);
    // A person makes the final choice of the running system: through a default of their own, or in
    // the menu.
    let chosen = halted || own || state.running.picked;
    match () {
        () if !up.phase.is_end() => Some("every upgrade comes to an end"),
        () if matches!(state.disk.grubenv, GrubEnv::Set(_)) => {
            Some("nothing is armed when all is over")
        }
        () if state.cluster.cordon.is_marked() && !is_excused(state, halted) => {
            Some("I7: the node is schedulable, or says why not")
        }
        () if state.cluster.cordon.is_left() => Some("no mark of ours stays without its cordon"),
        () if (state.cluster.excluded.is_some() || state.ghost.hooked) && !halted => {
            Some("hooks and load balancers hear of the end")
        }
        () if state.cluster.shielded && !halted => Some("no shield stays when all is over"),
        () if is_cut_off_from_its_state(state) => Some("the kubelet's state is back, or owed"),
        () if state.disk.owed && !state.ghost.kept_out => {
            Some("nothing is owed that was never kept from being put back")
        }
        () if !chosen && !default.is_some_and(|one| one.same(state.running.system)) => {
            Some("I6: what runs is the default")
        }
        () if up.phase == Phase::Upgraded && !chosen && is_unlike(state) => {
            Some("what is upgraded has its kubelet's configuration")
        }
        () if !chosen && !is_where_it_says(state, up) => {
            Some("I6: what runs is what the record says")
        }
        () => crate::plane::rest::unrest(state, up).or_else(|| unanswered(state, record)),
    }
}

/// Whether the kubelet has the state of a newer one, and no snapshot exists for it. A person who
/// booted a system by hand has chosen that.
fn is_cut_off_from_its_state(state: &State) -> bool {
    let unreadable = state.disk.kubelet > state.running.system.letter;
    unreadable && !state.disk.owed && !state.running.picked && !state.ghost.by_hand
}

fn is_excused(state: &State, halted: bool) -> bool {
    let says_why = state.cluster.told.map(|told| told.answer) == Some(Answer::Failed(true));
    halted && says_why
}

fn is_where_it_says(state: &State, up: &Upgrade) -> bool {
    let letter = state.running.system.letter;
    if up.phase == Phase::Upgraded {
        // A person who requests the system that they made the default gets it.
        let vouched = state.ghost.imposed == Some(letter);
        return up.commit().map(cast::letter) == Some(letter)
            && (vouched || state.ghost.proven.contains(&letter));
    }
    cast::letter(&up.from.digest) == letter
}

/// The current request has an answer, and the Node shows what the record contains.
fn unanswered(state: &State, record: &Record) -> Option<&'static str> {
    let told = state.cluster.told;
    if told != answer(state, record) {
        return Some("I7: the Node says what the record says");
    }
    let asked = state.cluster.ask.map(Ask::raw);
    if asked.is_some() && record.spent != asked {
        return Some("every request is answered");
    }
    match told.map(|told| told.answer) {
        Some(Answer::InProgress | Answer::Failed(false)) => {
            Some("I7: the answer is an end, with its reason")
        }
        Some(Answer::Upgraded | Answer::Failed(true)) | None => None,
    }
}
