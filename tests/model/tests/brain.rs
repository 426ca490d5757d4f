//! The brain that ships keeps every promise, in every order in which a bounded number of
//! misfortunes can come.
#![allow(clippy::print_stdout, clippy::panic)]

use careen_model::check::{Chain, explore};
use careen_model::runs::{self, Run};
use careen_model::world::{Flaw, Left};

/// Of some 1,503,000 states that there were when this was written: a brain that decides otherwise
/// has some fewer or more.
const LEAST: usize = 1_250_000;

#[test]
fn the_brain_keeps_every_promise_whatever_breaks_in() {
    let mut states = 0;
    for Run { name, chain } in runs::bounded() {
        let explored = explore(chain);
        println!("{}", explored.line(&name));
        states += explored.states;
        if let Some(wrong) = explored.wrong {
            panic!("{name}: {}\n{}", wrong.promise, wrong.way);
        }
    }
    assert!(
        states > LEAST,
        "only {states} states, and at least {LEAST} are expected: the world has lost some of its misfortunes"
    );
}

/// The other half of the promise: why `host::boot` refuses such a loader before anything is
/// touched.
#[test]
fn loader_with_stuck_one_shot_boots_a_panicking_kernel_forever() {
    let calm = Left {
        all: 0,
        cuts: 0,
        people: 0,
    };
    let wrong = explore(Chain::new(&[Flaw::Panics], true, calm, None)).wrong;
    let promise = wrong.map(|wrong| wrong.promise);
    assert_eq!(promise, Some("every run comes to rest"));
}

/// All the more where /boot is a file system of its own: the guard cannot clear in its stead, and
/// refuses what it was not armed for.
#[test]
fn loader_with_stuck_one_shot_loops_when_boot_is_separate() {
    let one_cut = Left {
        all: 1,
        cuts: 1,
        people: 0,
    };
    let chain = Chain::new(&[Flaw::None], true, one_cut, None);
    let wrong = explore(chain.with_boot_apart()).wrong;
    let promise = wrong.map(|wrong| wrong.promise);
    assert_eq!(promise, Some("every run comes to rest"));
}
