//! The managers' logs. Only they count the failed attempts, and for some failures only they give
//! the reason.

use anyhow::{Result, ensure};
use testkit::cluster_api::{Manager, objects};

use crate::cluster::PATIENCE;
use crate::world::World;

/// The lines that core has logged so far and that contain all of these words.
///
/// # Errors
/// When there is no log.
pub async fn lines(world: &World, words: &[&str]) -> Result<Vec<String>> {
    lines_of(world, Manager::Core, words).await
}

async fn lines_of(world: &World, manager: Manager, words: &[&str]) -> Result<Vec<String>> {
    let log = world.managers.lock().await.log(manager)?;
    let text = std::fs::read_to_string(log)?;
    let held = |line: &&str| words.iter().all(|word| line.contains(word));
    Ok(text.lines().filter(held).map(str::to_owned).collect())
}

/// Waits until core has logged `count` lines with all of these words.
///
/// # Errors
/// When the lines do not come. The error contains the lines that did.
pub async fn until(world: &World, words: &[&str], count: usize) -> Result<()> {
    until_said(world, Manager::Core, words, count).await
}

/// Does the same for any manager.
///
/// # Errors
/// As [`until`].
pub async fn until_said(
    world: &World,
    manager: Manager,
    words: &[&str],
    count: usize,
) -> Result<()> {
    let ask = || async {
        let lines = lines_of(world, manager, words).await?;
        ensure!(lines.len() >= count, "{lines:#?}");
        Ok(())
    };
    let name = manager.name();
    objects::until(&format!("{name} says {words:?}"), PATIENCE, ask).await
}
