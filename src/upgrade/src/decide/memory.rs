//! A definite bad verdict is never tried again unasked: a new id, or removing and setting the
//! request, is asking.

use crate::id::{Digest, UpgradeId};
use crate::reason::Reason;
use crate::record::BadImage;

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
