//! Where a run's node is.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use rig::images::DiskKind;
use rig::progress::Progress;
use rig::{Rig, workload};
use testkit::programs::out;

/// The folder of a run's node, and its progress output.
#[derive(Debug)]
pub struct Place {
    /// The folder.
    pub dir: PathBuf,
    /// Prints the steps.
    pub progress: Progress,
}

impl Place {
    /// The place of this name.
    pub fn of(name: &str) -> Self {
        let name = format!("bench-{name}");
        Self {
            dir: out().join(&name),
            progress: Progress::new(&name),
        }
    }
}

/// A joined node with nothing to drain.
pub async fn empty_node(disk: DiskKind, place: &Place) -> Result<Rig> {
    let mut rig = Rig::start(disk, &place.dir, place.progress.clone()).await?;
    rig.before().await?;
    workload::remove(&rig.plane.client().await?).await?;
    rig.forget_base().await?;
    // The restored guest's catching up must not count in the measurement.
    tokio::time::sleep(Duration::from_secs(20)).await;
    Ok(rig)
}
