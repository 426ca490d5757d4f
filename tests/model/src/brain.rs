//! What the brain says, in the model's words: its acts, and what its record has of the upgrade.

use upgrade::{Phase, Step};

use crate::cast::{self, System};
use crate::world::{Act, Do, State};

/// The act as the model names it.
#[must_use]
pub fn act_of(act: &upgrade::Act) -> Act {
    match act {
        upgrade::Act::Begin(step) => Act::Begin(step_of(step)),
        upgrade::Act::Cancel => Act::Cancel,
        upgrade::Act::Wait(until) => Act::Wait(until.map(|at| {
            // Rounds up to whole seconds, so that it is never too early. The model has no moment
            // after a day.
            u16::try_from(at.0.div_ceil(1000)).unwrap_or(u16::MAX)
        })),
    }
}

fn step_of(step: &Step) -> Do {
    match step {
        Step::Fetch { .. } => Do::Fetch,
        Step::Verify { .. } => Do::Verify,
        Step::Rehearse => Do::Rehearse,
        Step::Deploy { commit } => Do::Deploy(cast::letter(commit)),
        Step::PreHooks => Do::PreHooks,
        Step::Exclude => Do::Exclude,
        Step::Drain { .. } => Do::Drain,
        Step::Snapshot => Do::Snapshot,
        Step::Arm { deployment } => Do::Arm(System::of(deployment)),
        Step::Disarm => Do::Disarm,
        Step::Reboot { force } => Do::Reboot(*force),
        Step::Kubeadm => Do::Kubeadm,
        Step::Bless { commit, .. } => Do::Bless(cast::letter(commit)),
        Step::Reinstate { .. } => Do::Reinstate,
        Step::PostHooks { upgraded } => Do::PostHooks(*upgraded),
        Step::Release => Do::Release,
        Step::Unmark => Do::Unmark,
        Step::Settle => Do::Settle,
        Step::Undo { commit } => Do::Undo(commit.as_ref().map_or('?', cast::letter)),
        Step::Clean => Do::Clean,
        Step::Control { task } => Do::Control(*task),
        Step::Pass => Do::Pass,
    }
}

/// The phase on the disk.
#[must_use]
pub fn phase(state: &State) -> Option<&Phase> {
    let up = state.disk.record.record().upgrade.as_ref();
    up.map(|up| &up.phase)
}

/// The number of the upgrade, which marks what it sets.
#[must_use]
pub fn number(state: &State) -> u8 {
    let up = state.disk.record.record().upgrade.as_ref();
    up.map_or(0, |up| cast::id_number(&up.id))
}
