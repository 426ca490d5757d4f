//! Whether a fetched image may run here: the judgement on what `careen-deploy verify` found.

use crate::image::{ImageFacts, ImageInfo, Room, STAGE_PROTOCOL};
use crate::observe::Observation;
use crate::policy::Policy;
use crate::reason::Reason;
use crate::record::Upgrade;
use crate::version::Version;

/// The first thing that speaks against the image.
pub(super) fn judge(
    facts: &ImageFacts,
    up: &Upgrade,
    seen: &Observation,
    policy: &Policy,
) -> Result<(), Reason> {
    let commit = || facts.commit.short().to_owned();
    let Some(info) = &facts.info else {
        return Err(Reason::NoImageInfo {
            commit: commit(),
            detail: "it is missing".to_owned(),
        });
    };
    if info.architecture != seen.machine {
        let (image, machine) = (info.architecture.clone(), seen.machine.clone());
        return Err(Reason::WrongArchitecture {
            commit: commit(),
            image,
            machine,
        });
    }
    if facts.kernel.is_none() {
        return Err(Reason::NoKernel { commit: commit() });
    }
    if info.stage != Some(STAGE_PROTOCOL) && !policy.unguarded {
        let (commit, found) = (commit(), info.stage);
        return Err(Reason::NoStage { commit, found });
    }
    versions(info, up, policy)?;
    room("the root file system", facts.root)?;
    room("/boot", facts.boot)
}

fn versions(info: &ImageInfo, up: &Upgrade, policy: &Policy) -> Result<(), Reason> {
    let carried = info.kubernetes.clone();
    // It parsed when the request was taken; a request that no longer does asks for no version.
    let wanted: Option<Version> = up
        .request
        .kubernetes
        .as_deref()
        .and_then(|text| text.parse().ok());
    if let Some(wanted) = wanted.filter(|wanted| *wanted != carried) {
        return Err(Reason::VersionMismatch { wanted, carried });
    }
    match &up.from_version {
        Some(from) if carried < *from && !policy.downgrade => Err(Reason::Downgrade {
            from: from.clone(),
            to: carried,
        }),
        Some(_) | None => Ok(()),
    }
}

fn room(place: &str, room: Room) -> Result<(), Reason> {
    if room.fits() {
        return Ok(());
    }
    Err(Reason::NoRoom {
        place: place.to_owned(),
        need: room.need,
        free: room.free,
    })
}
