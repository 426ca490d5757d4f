//! A prepared host without a cluster: the brain that ships keeps every promise there too, and each
//! broken one is caught.
#![allow(clippy::print_stdout, clippy::panic)]

use careen_model::check::explore;
use careen_model::mistakes::OF_HOSTS;
use careen_model::runs::{self, Run};

#[test]
fn host_keeps_every_promise_whatever_breaks_in() {
    for Run { name, chain } in runs::hosts() {
        let explored = explore(chain);
        println!("{}", explored.line(&name));
        assert!(explored.states > 1_000, "{name}: {}", explored.states);
        if let Some(wrong) = explored.wrong {
            panic!("{name}: {}\n{}", wrong.promise, wrong.way);
        }
    }
}

#[test]
fn every_brain_that_breaks_a_host_is_caught() {
    for mutant in OF_HOSTS {
        let wrong = runs::hunt_on_hosts(mutant);
        println!(
            "{mutant:?}: {:?}",
            wrong.as_ref().map(|wrong| wrong.promise)
        );
        assert!(wrong.is_some(), "{mutant:?} is not caught");
    }
}
