//! The image of a claim, through careen-agent: the request in /run, and the answer in the agent's
//! record. The agent fetches, tries and judges it as in an upgrade of a Node.

use std::fs;

use life::{Agent, Claim, ClaimId, Image};
use upgrade::decide::RecordRead;
use upgrade::phase::Class;
use upgrade::{RawRequest, Upgrade};

use crate::disk::{Disk, write_json};
use crate::error::Result;
use crate::paths::Paths;

/// Asks for the image of a claim.
///
/// # Errors
/// The request is not there.
pub fn ask(paths: &Paths, disk: &dyn Disk, claim: &Claim) -> Result<()> {
    let Some(image) = &claim.image else {
        return Ok(());
    };
    let request = RawRequest {
        kubernetes: claim.version.as_ref().map(ToString::to_string),
        id: Some(id(&claim.id)),
        ..RawRequest::scheduled(image)
    };
    write_json(disk, &paths.request(), &request)
}

/// Withdraws what was asked.
///
/// # Errors
/// The request is still there.
pub fn withdraw(paths: &Paths, disk: &dyn Disk) -> Result<()> {
    disk.remove(&paths.request())
}

/// Whether a request is there.
#[must_use]
pub fn is_asked(paths: &Paths) -> bool {
    fs::symlink_metadata(paths.request()).is_ok()
}

fn id(claim: &ClaimId) -> String {
    format!("host-{}", claim.short())
}

/// How far the agent is with the image of this claim.
#[must_use]
pub fn image(record: &RecordRead, claim: &ClaimId) -> Image {
    let record = match record {
        Ok(record) => record,
        Err(why) => return Image::Unknown(why.to_string()),
    };
    let wanted = id(claim);
    let refused = record
        .refused
        .as_ref()
        .filter(|refused| refused.id.as_ref().is_some_and(|id| id.as_str() == wanted));
    if let Some(refused) = refused {
        return Image::Failed(refused.reason.to_string());
    }
    match record
        .upgrade
        .as_ref()
        .filter(|up| up.id.as_str() == wanted)
    {
        None => Image::Unasked,
        Some(up) => of(up),
    }
}

fn of(up: &Upgrade) -> Image {
    match up.phase.class() {
        Class::Upgraded => Image::Right,
        Class::Failed { reason } | Class::Halted { reason } => Image::Failed(reason.to_string()),
        Class::Preparing | Class::Trying { .. } | Class::Blessed | Class::Reverting { .. } => {
            Image::UnderWay(format!("careen-agent is at {}", up.phase.name()))
        }
    }
}

/// Whether the agent has an upgrade under way. A halted one may still own the next boot.
#[must_use]
pub fn at_rest(record: &RecordRead) -> Agent {
    let record = match record {
        Ok(record) => record,
        Err(why) => return Agent::Busy(why.to_string()),
    };
    let Some(up) = &record.upgrade else {
        return Agent::AtRest;
    };
    match up.phase.class() {
        Class::Upgraded | Class::Failed { .. } => Agent::AtRest,
        Class::Preparing
        | Class::Trying { .. }
        | Class::Blessed
        | Class::Reverting { .. }
        | Class::Halted { .. } => {
            Agent::Busy(format!("its upgrade {} is at {}", up.id, up.phase.name()))
        }
    }
}
