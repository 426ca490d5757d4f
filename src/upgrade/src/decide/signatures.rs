//! What the policy asks of signatures, and what it asked when the image was fetched or deployed.

use super::change::Change;
use super::situation::Situation;
use crate::policy::Policy;
use crate::record::Signatures;
use crate::record::Upgrade;
use crate::target::{Source, Wanted};

/// A step asks for signatures by the present policy. A run that a killed agent began asked by the
/// policy of then, and the note of that stays.
pub(super) fn note(up: &Upgrade, goes_on: bool, s: &Situation<'_>) -> Option<Change> {
    let stays = goes_on && up.signatures.is_some();
    (!stays).then(|| Change::Signatures(Signatures::from(s.policy)))
}

/// Whether the policy now asks more of signatures than it did when the image was deployed. The
/// deployment asks for them once more.
pub(super) fn ask_for_more(up: &Upgrade, policy: &Policy) -> bool {
    let Some(before) = &up.signatures else {
        return false;
    };
    let now = Signatures::from(policy);
    let other_signer = is_container(up) && before.signed_by != now.signed_by;
    !now.unsigned && (before.unsigned || other_signer)
}

/// Whether nothing but skopeo's policy vouches for a container image now, and skopeo was not asked
/// by it. Its verdict is no part of the commit, so the image is asked for once more.
pub(super) fn lack_the_verdict_of_skopeo(up: &Upgrade, policy: &Policy) -> bool {
    let now = Signatures::from(policy);
    let by_skopeo = !now.unsigned && now.signed_by.is_empty() && is_container(up);
    let was_asked = |before: &Signatures| !before.unsigned && before.signed_by.is_empty();
    by_skopeo && !up.signatures.as_ref().is_some_and(was_asked)
}

fn is_container(up: &Upgrade) -> bool {
    match up.wanted() {
        Wanted::Image(target) => matches!(target.source, Source::Container(_)),
        Wanted::Kept => false,
    }
}
