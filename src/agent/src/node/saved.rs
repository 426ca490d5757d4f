//! The kubelet's saved state, once an upgrade needs it no more.

use host::{Places, snapshot};
use upgrade::{Step, UpgradeId, names};

/// Removes the saved states of the kubelet but for this upgrade's, which the record tells of. What stays takes room and does nothing.
pub fn keep(places: &Places, id: Option<&UpgradeId>) {
    if let Err(error) = snapshot::keep_only(places, id) {
        tracing::warn!("the kubelet's saved state was not removed: {error}");
    }
}

/// Behind the last step of an upgrade: its state must not be put back any more, nor that of one before it. Only what the old system is still
/// owed stays, for its next boot or a person.
pub fn tidy(places: &Places, step: &Step, id: &UpgradeId) {
    match (step, snapshot::why_owed(places, id)) {
        (Step::Undo { .. }, Some(why)) => {
            tracing::warn!(
                "the kubelet runs on what the trial left, for its state of before could not be put back: {why}. It is kept in {} and \
                 tried again at the next boot; journalctl -u {} says what to do",
                places.snapshot(id).display(),
                names::RESTORE_UNIT
            );
            keep(places, Some(id));
        }
        (Step::Undo { .. } | Step::Clean, _) => keep(places, None),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept_behind(step: &Step, owed: bool) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::running(folder.path());
        let id = "one".parse().unwrap();
        snapshot::save(&places, &id).unwrap();
        if owed {
            snapshot::owe(&places, &id, "the disk was full").unwrap();
        }
        tidy(&places, step, &id);
        snapshot::exists(&places, &id)
    }

    #[test]
    fn what_could_not_be_put_back_outlives_the_undoing_of_its_upgrade() {
        let undo = Step::Undo { commit: None };
        assert!(kept_behind(&undo, true));
        assert!(!kept_behind(&undo, false));
    }

    #[test]
    fn a_blessed_system_keeps_nothing_of_the_old_one() {
        assert!(!kept_behind(&Step::Clean, true));
    }
}
