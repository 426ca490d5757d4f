//! Both ways of one run, on the same frozen node.

use anyhow::Result;
use rig::images::{self, DiskKind, ensure_commit};
use serde::{Deserialize, Serialize};

use super::place::Place;
use super::{careen, hand};
use crate::changed;

/// One run of both ways. Times in seconds, sizes in bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Run {
    /// Careen's.
    pub careen: careen::Times,
    /// By hand.
    pub hand: hand::Times,
    /// The bytes that the image changes.
    pub changed: u64,
}

/// Makes one run.
pub async fn pair(place: &Place) -> Result<Run> {
    let image = ensure_commit("v2")?;
    let repository = images::repository()?;
    let share = changed::share(&repository, "v1", &image.digest)?;
    Ok(Run {
        careen: careen::upgrade(DiskKind::Bios, &image, place).await?,
        hand: hand::upgrade(&image, share, place).await?,
        changed: changed::bytes(&repository, "v1", &image.digest)?,
    })
}
