//! A brain that is broken on purpose breaks a promise, each of them: what the model does not catch it does not prove.
#![allow(clippy::print_stdout)]

use careen_model::check::explore;
use careen_model::mutant::MUTANTS;
use careen_model::runs;

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

/// The hunt's explorations find nothing where nothing is broken: a mutant is caught for its mistake.
#[test]
fn the_brain_that_ships_is_not() {
    for chain in runs::hunts(None) {
        assert!(explore(chain).wrong.is_none());
    }
}
