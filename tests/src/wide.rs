//! How wide the wide runs are: bounded, unless the environment says more, as `make soak` does.

use std::ops::Range;

use anyhow::{Context, Result};

/// The first seed of all misfortunes, so that another run of bad luck can be had, and the same one again: `CAREEN_SEED=7`.
const SEED: &str = "CAREEN_SEED";

/// How many seeds from there on, one rollout each.
const SEEDS: &str = "CAREEN_SEEDS";

/// How many Machines a wide rollout has.
const MACHINES: &str = "CAREEN_MACHINES";

/// The seeds to run with.
///
/// # Errors
/// When the environment gives one that is no number.
pub fn seeds() -> Result<Range<u64>> {
    let first = number(SEED, 1)?;
    Ok(first..first.saturating_add(number(SEEDS, 1)?))
}

/// How many Machines, where so few do unless more are asked for.
///
/// # Errors
/// When the environment gives none that can be had.
pub fn machines(few: u32) -> Result<u32> {
    let asked = number(MACHINES, few.into())?;
    let machines = u32::try_from(asked).ok().filter(|asked| *asked >= few);
    machines.with_context(|| format!("{MACHINES}={asked}: {few} at least are needed"))
}

fn number(name: &str, unless: u64) -> Result<u64> {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .with_context(|| format!("{name}={text} is no number")),
        Err(_) => Ok(unless),
    }
}
