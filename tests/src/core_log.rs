//! The managers' logs. They are the one place that counts how often something was tried in vain, and for some of it the one that says why.

use anyhow::{Result, ensure};
use vm_tests::cluster_api::{Manager, objects};

use crate::world::{PATIENCE, World};

/// The lines of core so far that hold all of these words.
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

/// Waits until there are so many lines of core with all of these words.
///
/// # Errors
/// When they do not come: those that are there.
pub async fn until(world: &World, words: &[&str], count: usize) -> Result<()> {
    until_said(world, Manager::Core, words, count).await
}

/// The same of any manager.
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
