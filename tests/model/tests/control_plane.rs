//! A node that is a member of a control plane: the brain that ships keeps every promise there too,
//! and each broken one is caught.
#![allow(clippy::print_stdout, clippy::panic)]

use careen_model::check::{Chain, explore};
use careen_model::mistakes::OF_CONTROL_PLANES;
use careen_model::runs::{self, Run};

/// As in `brain.rs`.
const LEAST: usize = 120_000;

#[test]
fn control_plane_keeps_every_promise_whatever_breaks_in() {
    let mut states = 0;
    for Run { name, chain } in runs::control_planes() {
        let explored = explore(chain);
        println!("{}", explored.line(&name));
        states += explored.states;
        if let Some(wrong) = explored.wrong {
            panic!("{name}: {}\n{}", wrong.promise, wrong.way);
        }
    }
    assert!(
        states > LEAST,
        "only {states} states, and at least {LEAST} are expected"
    );
}

/// The promises of a control plane, as the model's source has them: the first text after each of
/// these calls.
fn promises() -> Vec<&'static str> {
    let sources = [
        (".breaks(", include_str!("../src/plane/promises.rs")),
        (".breaks(", include_str!("../src/plane/pods.rs")),
        (".breaks(", include_str!("../src/plane/raise.rs")),
        (".then_some(", include_str!("../src/plane/rest.rs")),
    ];
    let found = sources.into_iter().flat_map(|(call, text)| {
        let after = text.split(call).skip(1);
        after.filter_map(|after| after.split('"').nth(1))
    });
    let found: Vec<_> = found.collect();
    assert!(found.len() >= 20, "only {found:?}");
    found
}

#[test]
fn every_brain_that_breaks_a_control_plane_is_caught() {
    let (mut escaped, mut broken) = (Vec::new(), Vec::new());
    for mutant in OF_CONTROL_PLANES {
        match runs::hunt_on_control_planes(mutant) {
            Some(wrong) => {
                println!("{mutant:?}: {}", wrong.promise);
                broken.push(wrong.promise);
            }
            None => escaped.push(mutant),
        }
    }
    assert!(escaped.is_empty(), "not caught: {escaped:?}");
    let mut kept = promises();
    kept.retain(|promise| !broken.contains(promise));
    assert!(kept.is_empty(), "no brain breaks: {kept:?}");
}

#[test]
fn hunts_on_a_control_plane_find_nothing_in_what_ships() {
    // The other test has explored most of them.
    let known = runs::control_planes();
    let is_known = |chain: &Chain| known.iter().any(|run| run.chain.contains(chain));
    for (at, chain) in runs::hunts_on_control_planes(None).into_iter().enumerate() {
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
