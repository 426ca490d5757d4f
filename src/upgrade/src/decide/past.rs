//! What the history keeps of an upgrade that ends.

use crate::bill::Now;
use crate::history::{Past, asked_version};
use crate::record::Upgrade;

impl Past {
    /// An upgrade that ends now.
    pub(crate) fn ended(up: &Upgrade, now: Now<'_>) -> Self {
        let info = up.facts.as_ref().and_then(|facts| facts.info.as_ref());
        let began = up.reached.first().map_or(now.wall, |first| first.at);
        let lasted = now.wall.saturating_sub(began);
        let past = Self {
            id: Some(up.id.clone()),
            from: up.from_version.clone(),
            to: info
                .map(|info| info.kubernetes.clone())
                .or_else(|| asked_version(&up.request)),
            began,
            seconds: Some(up.bill.seconds(lasted, now)),
            tries: up.attempt.tries,
            ..Self::new(&up.request, now.wall)
        };
        match up.phase.failure() {
            Some(reason) => past.failed(reason),
            None => past,
        }
    }
}
