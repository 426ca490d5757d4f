//! The kubelet's saved state, once an upgrade no longer needs it.

use host::snapshot::Here;
use host::{Error, Places, snapshot};
use upgrade::{Reason, Record, UpgradeId, names};

use crate::task::Verb;

/// Checks that everything a trial changed in the kubelet's state is restored for the old system.
/// The disk's content decides, for any upgrade.
///
/// # Errors
/// The agent cannot determine it.
pub fn none_is_owed(places: &Places) -> host::Result<Result<(), Reason>> {
    match snapshot::none_is_owed(places) {
        Ok(()) => Ok(Ok(())),
        Err(Error::Reason(reason)) => Ok(Err(reason)),
        Err(error) => Err(error),
    }
}

/// Notes what a trial changed and nothing restored; the unit for that may not have run at all. Call
/// it with the record as read, before any decision. Otherwise a second trial would save what the
/// first one left, and the undo would remove what is right.
///
/// # Errors
/// The note may be lost.
pub fn owe_what_is_outstanding(
    places: &Places,
    record: &Record,
    here: Here<'_>,
) -> host::Result<()> {
    let Some(upgrade) = &record.upgrade else {
        return Ok(());
    };
    if !snapshot::is_outstanding(places, upgrade, here) {
        return Ok(());
    }
    snapshot::owe_outstanding(places, upgrade)?;
    tell_what_is_owed(places, &upgrade.id);
    Ok(())
}

/// Removes the saved states of the kubelet, except this upgrade's, which the record names, and the
/// owed ones. What stays uses room and has no effect.
pub fn keep(places: &Places, id: Option<&UpgradeId>) {
    removed(snapshot::keep_only(places, id));
}

/// Runs after the last verb of an upgrade: nothing may restore its saved state any more, nor that
/// of an earlier upgrade. Only what the old system is still owed stays, for its next boot or a
/// person.
pub fn tidy(places: &Places, verb: &Verb, id: &UpgradeId) {
    match verb {
        Verb::Undo { .. } => tell_what_is_owed(places, id),
        // From now on the state of this node is what the new system has made of it. Nothing can
        // restore what this upgrade saved.
        Verb::Clean => removed(snapshot::forget(places, id)),
        Verb::Fetch { .. }
        | Verb::Verify { .. }
        | Verb::Deploy { .. }
        | Verb::Bless { .. }
        | Verb::Reinstate { .. } => return,
    }
    keep(places, None);
}

fn tell_what_is_owed(places: &Places, id: &UpgradeId) {
    let Some(owed) = snapshot::owed(places, id) else {
        return;
    };
    tracing::warn!(
        "the kubelet runs on the state that the trial left, because its state from before cannot be restored: {}. It is kept in {}, the next boot tries again, and no upgrade begins before it is restored; journalctl -u {} says what to do",
        owed.why,
        places.snapshot(id).display(),
        names::RESTORE_UNIT
    );
}

fn removed(done: host::Result<()>) {
    if let Err(error) = done {
        tracing::warn!("cannot remove the kubelet's saved state: {error}");
    }
}

#[cfg(test)]
mod tests;
