//! The size of the wide runs. It is bounded, unless the environment sets a larger size, as
//! `make soak` does.

use std::ops::Range;

use anyhow::{Context, Result};

/// The first seed of all faults. It makes another random run, or repeats one: `CAREEN_SEED=7`.
const SEED: &str = "CAREEN_SEED";

/// The number of consecutive seeds, with one rollout each.
const SEEDS: &str = "CAREEN_SEEDS";

/// The number of Machines in a wide rollout.
const MACHINES: &str = "CAREEN_MACHINES";

/// The seeds of this run.
///
/// # Errors
/// When a value in the environment is not a number.
pub fn seeds() -> Result<Range<u64>> {
    let first = number(SEED, 1)?;
    Ok(first..first.saturating_add(number(SEEDS, 1)?))
}

/// The number of Machines: `few`, unless the environment sets another number.
///
/// # Errors
/// When the value in the environment is not usable.
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
