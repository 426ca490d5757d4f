//! The explorations of `make test` and `make soak`.

use crate::check::{Chain, explore};
use crate::host;
use crate::mistakes::Mutant;
use crate::plane::Shape;
use crate::way::Wrong;
use crate::world::{FLAWS, Flaw, Left};

/// One exploration.
pub struct Run {
    /// Its name.
    pub name: String,
    /// The explored model.
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

/// The flaws with a kernel that runs until the stage looks. With a loader that cannot clear its
/// one-shot, the other flaws would boot for ever. Careen therefore rejects such a loader before it
/// changes anything, and the stage can fix only what it sees.
#[must_use]
pub fn reach_the_stage() -> Vec<Flaw> {
    FLAWS
        .into_iter()
        .filter(|flaw| *flaw != Flaw::Panics)
        .collect()
}

/// The flaws that show in a trial without an API server after the new system has reached it. An
/// operator who blesses without an API server accepts that the other flaws are blessed
/// (docs/policy.md). An image that is not let in has no trial.
#[must_use]
pub fn show_by_themselves() -> Vec<Flaw> {
    FLAWS
        .into_iter()
        .filter(|flaw| {
            !matches!(
                flaw,
                Flaw::NeverReady | Flaw::ServesLess | Flaw::OtherBranch
            )
        })
        .collect()
}

/// The explorations of `make test`.
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

fn of_a_member(name: &str, shape: Shape, flaws: &[Flaw], left: (u8, u8, u8)) -> Run {
    let run = run(name, flaws, false, left);
    Run {
        chain: run.chain.on_a_control_plane(shape),
        ..run
    }
}

/// The explorations of `make test` on members of a control plane.
#[must_use]
pub fn control_planes() -> Vec<Run> {
    let bad = [Flaw::None, Flaw::MemberDown];
    vec![
        of_a_member(
            "the only member, one misfortune",
            Shape::Single,
            &bad,
            (1, 1, 1),
        ),
        of_a_member(
            "the first of three, one misfortune",
            Shape::First,
            &bad,
            (1, 1, 1),
        ),
        of_a_member(
            "the last of three, one misfortune",
            Shape::Last,
            &[Flaw::UserCheck],
            (1, 1, 1),
        ),
        of_a_member(
            "one of three raised ones, one misfortune",
            Shape::Raised,
            &[Flaw::None],
            (1, 1, 1),
        ),
        of_a_member(
            "a folder for each deployment",
            Shape::Unshared,
            &[Flaw::None],
            (1, 1, 1),
        ),
        with_care(of_a_member(
            "the first of three and a careful operator, one misfortune",
            Shape::First,
            &[Flaw::None],
            (1, 1, 1),
        )),
    ]
}

fn of_a_host(run: Run) -> Run {
    Run {
        chain: run.chain.on_a_host(),
        ..run
    }
}

/// The explorations of `make test` on prepared hosts without a cluster.
#[must_use]
pub fn hosts() -> Vec<Run> {
    vec![
        of_a_host(run(
            "a host and any image, one misfortune",
            &host::FLAWS,
            false,
            (1, 1, 1),
        )),
        of_a_host(alone(run(
            "a host and a good image where the operator blesses without an API server, two misfortunes without people",
            &[Flaw::None],
            false,
            (2, 2, 0),
        ))),
    ]
}

/// The minimum number of states in all explorations of `make soak`. With fewer states, the model no
/// longer explores what it must.
pub const SOAK_STATES: usize = 1_000_000;

/// The explorations of `make soak`: at least [`SOAK_STATES`].
#[must_use]
pub fn soak() -> Vec<Run> {
    let stuck = "a loader that cannot clear, two misfortunes without people";
    vec![
        of_a_member(
            "the only member, two misfortunes",
            Shape::Single,
            &[Flaw::None, Flaw::MemberDown],
            (2, 2, 1),
        ),
        of_a_member(
            "the last of three, two misfortunes",
            Shape::Last,
            &[Flaw::None, Flaw::MemberDown],
            (2, 2, 1),
        ),
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

/// The explorations that search for mutants, cheapest first: nearly every mistake shows with one
/// fault or none.
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
        small(&[Flaw::NodesOwn, Flaw::NoKernel], 0, 0, 0),
        small(&[Flaw::None], 1, 0, 1).with_care(),
    ]
}

/// The same for mistakes about a control plane.
#[must_use]
pub fn hunts_on_control_planes(mutant: Option<Mutant>) -> Vec<Chain> {
    let small = |shape: Option<Shape>, flaws: &[Flaw], all, cuts, people| {
        let chain = Chain::new(flaws, false, Left { all, cuts, people }, mutant);
        match shape {
            Some(shape) => chain.on_a_control_plane(shape),
            None => chain,
        }
    };
    let (none, bad) = ([Flaw::None], [Flaw::MemberDown]);
    vec![
        small(None, &none, 0, 0, 0),
        small(Some(Shape::First), &none, 0, 0, 0),
        small(Some(Shape::First), &bad, 0, 0, 0),
        small(Some(Shape::Unshared), &none, 0, 0, 0),
        small(Some(Shape::Single), &[Flaw::UserCheck], 0, 0, 0),
        small(Some(Shape::First), &[Flaw::UserCheck], 0, 0, 0),
        small(Some(Shape::First), &none, 1, 1, 1),
        small(Some(Shape::Single), &none, 1, 1, 1),
        small(Some(Shape::First), &none, 1, 0, 0).with_care(),
        small(Some(Shape::Single), &none, 2, 1, 0),
    ]
}

/// How the model catches a mutant.
#[must_use]
pub fn hunt(mutant: Mutant) -> Option<Wrong> {
    caught(hunts(Some(mutant)))
}

/// How the model catches a mistake about a control plane.
#[must_use]
pub fn hunt_on_control_planes(mutant: Mutant) -> Option<Wrong> {
    caught(hunts_on_control_planes(Some(mutant)))
}

/// How the model catches a mistake about a prepared host without a cluster.
#[must_use]
pub fn hunt_on_hosts(mutant: Mutant) -> Option<Wrong> {
    let small = |flaws: &[Flaw]| {
        let left = Left {
            all: 0,
            cuts: 0,
            people: 0,
        };
        Chain::new(flaws, false, left, Some(mutant)).on_a_host()
    };
    caught(vec![small(&[Flaw::None]), small(&[Flaw::NoNetwork])])
}

fn caught(chains: Vec<Chain>) -> Option<Wrong> {
    chains.into_iter().find_map(|chain| explore(chain).wrong)
}
