//! A definite bad verdict is never tried again unasked: a new id, or removing and setting the request, is asking.

use super::give_up;
use crate::id::{Digest, UpgradeId};
use crate::phase::Phase;
use crate::reason::Reason;
use crate::record::{BadImage, Upgrade};
use crate::step::{Finished, Step};

/// Whether this image may be tried, asked for by this id.
pub(crate) fn check(
    bad: &[BadImage],
    commit: &Digest,
    id: Option<&UpgradeId>,
) -> Result<(), Reason> {
    match bad.iter().find(|bad| bad.digest == *commit) {
        Some(bad) if !bad.asked_again && id.is_none_or(|id| *id == bad.id) => {
            Err(Reason::RememberedBad {
                digest: bad.digest.short().to_owned(),
                before: bad.because.clone(),
            })
        }
        Some(_) | None => Ok(()),
    }
}

/// A ref says which image it names only when it is fetched.
pub(super) fn check_fetched(up: &mut Upgrade, finished: &Finished, bad: &[BadImage]) {
    let resolved = matches!(finished.step, Step::Fetch { .. }) && up.phase == Phase::Fetched;
    let Some(commit) = up.commit().filter(|_| resolved) else {
        return;
    };
    // An id of our own was nobody's asking.
    let id = up.request.id.as_ref().map(|_| &up.id);
    if let Err(reason) = check(bad, commit, id) {
        give_up(up, reason);
    }
}
