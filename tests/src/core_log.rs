//! Core's log. It is the one place that counts how often core has tried something in vain, and for some of it the one that says why.

use anyhow::{Result, ensure};
use vm_tests::cluster_api::{Manager, objects};

use crate::world::{PATIENCE, World};

/// The lines so far that hold all of these words.
///
/// # Errors
/// When there is no log.
pub async fn lines(world: &World, words: &[&str]) -> Result<Vec<String>> {
    let log = world.managers.lock().await.log(Manager::Core)?;
    let text = std::fs::read_to_string(log)?;
    let held = |line: &&str| words.iter().all(|word| line.contains(word));
    Ok(text.lines().filter(held).map(str::to_owned).collect())
}

/// Waits until there are so many lines with all of these words.
///
/// # Errors
/// When they do not come: those that are there.
pub async fn until(world: &World, words: &[&str], count: usize) -> Result<()> {
    let ask = || async {
        let lines = lines(world, words).await?;
        ensure!(lines.len() >= count, "{lines:#?}");
        Ok(())
    };
    objects::until(&format!("core says {words:?}"), PATIENCE, ask).await
}
