//! Which explorations `make test` and `make soak` make.

use crate::check::{Chain, explore};
use crate::mutant::Mutant;
use crate::way::Wrong;
use crate::world::{FLAWS, Flaw, Left};

/// One exploration.
pub struct Run {
    /// What it is.
    pub name: String,
    /// It.
    pub chain: Chain,
}

fn run(name: &str, flaws: &[Flaw], stuck: bool, left: (u8, u8, u8)) -> Run {
    let (all, cuts, people) = left;
    let left = Left { all, cuts, people };
    Run {
        name: name.to_owned(),
        chain: Chain::new(flaws, stuck, left, None),
    }
}

fn with_care(run: Run) -> Run {
    Run {
        chain: run.chain.with_care(),
        ..run
    }
}

fn alone(run: Run) -> Run {
    Run {
        chain: run.chain.alone(),
        ..run
    }
}

fn with_kept(run: Run) -> Run {
    Run {
        chain: run.chain.with_kept(),
        ..run
    }
}

fn with_boot_apart(run: Run) -> Run {
    Run {
        chain: run.chain.with_boot_apart(),
        ..run
    }
}

/// Those whose kernel lives until the stage looks. Beside a loader that cannot clear its one-shot the others would boot for
/// ever, which is why such a loader is refused before anything is touched; only what the stage sees can be mended by it.
#[must_use]
pub fn reach_the_stage() -> Vec<Flaw> {
    FLAWS
        .into_iter()
        .filter(|flaw| *flaw != Flaw::Panics)
        .collect()
}

/// Those whose fault shows without an API server, once the new system has reached it: an operator
/// who blesses without one has the other blessed, and knows it (docs/policy.md).
#[must_use]
pub fn show_by_themselves() -> Vec<Flaw> {
    FLAWS
        .into_iter()
        .filter(|flaw| *flaw != Flaw::NeverReady)
        .collect()
}

/// Those of `make test`.
#[must_use]
pub fn bounded() -> Vec<Run> {
    let stuck = "a loader that cannot clear, one misfortune";
    vec![
        run("any image, one misfortune", &FLAWS, false, (1, 1, 1)),
        run(stuck, &reach_the_stage(), true, (1, 1, 1)),
        with_care(run(
            "a good and a bad image and a careful operator, one misfortune",
            &[Flaw::None, Flaw::UserCheck],
            false,
            (1, 1, 1),
        )),
        with_kept(run(
            "a good and a bad image beside a system that is kept, one misfortune",
            &[Flaw::None, Flaw::UserCheck],
            false,
            (1, 1, 1),
        )),
        with_boot_apart(run(
            "any image and a guard that sees no /boot, one misfortune",
            &FLAWS,
            false,
            (1, 1, 1),
        )),
        alone(run(
            "a good image and two bad ones where the operator blesses without an API server, two misfortunes without people",
            &[Flaw::None, Flaw::UserCheck, Flaw::NoNetwork],
            false,
            (2, 2, 0),
        )),
        with_care(alone(run(
            "a good image and a careful operator who blesses without an API server, two misfortunes without people",
            &[Flaw::None],
            false,
            (2, 2, 0),
        ))),
        run(
            "any image, two misfortunes without people",
            &FLAWS,
            false,
            (2, 2, 0),
        ),
        with_care(run(
            "a good image and a careful operator, two misfortunes without people and cuts",
            &[Flaw::None],
            false,
            (2, 0, 0),
        )),
    ]
}

/// So many states must those of `make soak` have together: fewer, and the model has lost what it was to explore.
pub const SOAK_STATES: usize = 1_000_000;

/// Those of `make soak`: at least [`SOAK_STATES`].
#[must_use]
pub fn soak() -> Vec<Run> {
    let stuck = "a loader that cannot clear, two misfortunes without people";
    vec![
        run(stuck, &reach_the_stage(), true, (2, 2, 0)),
        run("any image, two misfortunes", &FLAWS, false, (2, 2, 2)),
        with_kept(run(
            "a good and a bad image beside a system that is kept, two misfortunes",
            &[Flaw::None, Flaw::UserCheck],
            false,
            (2, 2, 2),
        )),
        with_boot_apart(run(
            "any image and a guard that sees no /boot, two misfortunes without people",
            &FLAWS,
            false,
            (2, 2, 0),
        )),
        with_care(run(
            "any image and a careful operator, two misfortunes without people",
            &FLAWS,
            false,
            (2, 2, 0),
        )),
        alone(run(
            "any image that shows its fault by itself, where the operator blesses without an API server, two misfortunes",
            &show_by_themselves(),
            false,
            (2, 2, 2),
        )),
        run(
            "a good image, three misfortunes without people",
            &[Flaw::None],
            false,
            (3, 3, 0),
        ),
    ]
}

/// Where broken brains are looked for, the cheapest first: nearly every mistake shows with one misfortune or none.
#[must_use]
pub fn hunts(mutant: Option<Mutant>) -> Vec<Chain> {
    let small = |flaws: &[Flaw], all, cuts, people| {
        Chain::new(flaws, false, Left { all, cuts, people }, mutant)
    };
    vec![
        small(&FLAWS, 0, 0, 0),
        small(&FLAWS, 1, 1, 1),
        small(&[Flaw::None], 1, 0, 0).with_care(),
        small(&[Flaw::None], 1, 0, 0).alone(),
        small(&[Flaw::None], 2, 0, 0).alone(),
        small(&[Flaw::None], 2, 0, 0).with_care().alone(),
        small(&[Flaw::None, Flaw::UserCheck], 2, 1, 2),
        small(&[Flaw::None], 2, 0, 0).with_care(),
        small(&[Flaw::None], 2, 2, 0),
    ]
}

/// How a broken brain is caught.
#[must_use]
pub fn hunt(mutant: Mutant) -> Option<Wrong> {
    hunts(Some(mutant))
        .into_iter()
        .find_map(|chain| explore(chain).wrong)
}
