//! A brain that is broken on purpose breaks a promise, each of them: what the model does not catch
//! it does not prove.
#![allow(clippy::print_stdout)]

use careen_model::check::{Chain, explore};
use careen_model::mistakes::{MUTANTS, Mutant};
use careen_model::runs;
use careen_model::world::{Flaw, Left};

#[test]
fn every_broken_brain_is_caught() {
    let mut escaped = Vec::new();
    for mutant in MUTANTS {
        match runs::hunt(mutant) {
            Some(wrong) => println!("{mutant:?}: {}", wrong.promise),
            None => escaped.push(mutant),
        }
    }
    assert!(escaped.is_empty(), "not caught: {escaped:?}");
}

/// The hunt's explorations find nothing where nothing is broken: a mutant is caught for its
/// mistake.
#[test]
fn the_brain_that_ships_is_not() {
    // `brain.rs` has explored some of them.
    let known = runs::bounded();
    let is_known = |chain: &Chain| known.iter().any(|run| run.chain.contains(chain));
    for (at, chain) in runs::hunts(None).into_iter().enumerate() {
        if is_known(&chain) {
            continue;
        }
        let wrong = explore(chain).wrong;
        let wrong = wrong.map(|wrong| format!("{}\n{}", wrong.promise, wrong.way));
        assert!(
            wrong.is_none(),
            "in hunt {at}: {}",
            wrong.unwrap_or_default()
        );
    }
}

/// A request within the settle time, which ends before it takes the node.
#[test]
fn shields_that_another_request_ends_are_caught() {
    let left = Left {
        all: 1,
        cuts: 0,
        people: 1,
    };
    let caught = |mutant| {
        let chain = Chain::new(&[Flaw::None], false, left, mutant);
        explore(chain.with_care()).wrong.map(|wrong| wrong.promise)
    };
    assert_eq!(caught(None), None);
    assert_eq!(
        caught(Some(Mutant::ForgetsSinceWhenTheNodeSettles)),
        Some("the shields stay until the node has settled")
    );
}

/// The blessing waits for its next try, and the system falls ill meanwhile.
#[test]
fn old_verdict_that_is_blessed_is_caught() {
    let left = Left {
        all: 2,
        cuts: 0,
        people: 0,
    };
    let caught = |mutant| {
        let chain = Chain::new(&[Flaw::None], false, left, mutant);
        explore(chain).wrong.map(|wrong| wrong.promise)
    };
    assert_eq!(caught(None), None);
    assert_eq!(
        caught(Some(Mutant::BlessesOnAnOldVerdict)),
        Some("no check fails when the blessing begins")
    );
}

/// A power cut takes the first trial, so the note is renewed before the second one.
#[test]
fn note_that_the_next_trial_forgets_is_caught() {
    let left = Left {
        all: 1,
        cuts: 1,
        people: 0,
    };
    let caught = |mutant| {
        let chain = Chain::new(&[Flaw::ServesLess], false, left, mutant);
        explore(chain).wrong.is_some()
    };
    assert!(!caught(None));
    assert!(caught(Some(Mutant::ForgetsItsNoteAtTheNextTrial)));
}
