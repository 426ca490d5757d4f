//! Every order of steps of leaders, hosts and operators over the decisions that ship: two leaders at
//! once, each with old lists and old reads, each dying between any two writes; hosts that fail, go
//! away and come back; an API server that is restored from a backup.
//!
//! **Left out.** Time: a host that is away is so for long enough, and a join may be late at any moment
//! where a server is restored. The brake and pauses (their tables). Secrets of a host are written without a race: their content says whose
//! they are.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod explore;
mod leader;
mod mutant;
mod objects;
mod real;
mod server;
mod world;
mod write;

use explore::{Explored, explore};
use mutant::Mutant;
use world::Setup;

const CALM: Setup = Setup {
    hosts: 1,
    machines: 1,
    leaders: 2,
    claims: 1,
    deletes: false,
    faults: 0,
    restores: false,
    release_orphans: false,
    mutant: None,
};

/// The explorations of the code that ships, and of each mutant.
const SETUPS: [(&str, Setup); 6] = [
    (
        "one host, two machines, two leaders",
        Setup {
            machines: 2,
            ..CALM
        },
    ),
    (
        "two hosts, one machine, two leaders, one misfortune",
        Setup {
            hosts: 2,
            claims: 2,
            faults: 1,
            ..CALM
        },
    ),
    (
        "one host, one machine that is deleted, two leaders, one misfortune",
        Setup {
            deletes: true,
            faults: 1,
            ..CALM
        },
    ),
    (
        "one host, one machine that is deleted, one leader, two misfortunes",
        Setup {
            leaders: 1,
            claims: 2,
            deletes: true,
            faults: 2,
            ..CALM
        },
    ),
    (
        "one host, one machine that is deleted, one leader, a restored server",
        Setup {
            leaders: 1,
            claims: 2,
            deletes: true,
            restores: true,
            release_orphans: true,
            ..CALM
        },
    ),
    (
        "one host, two machines that are deleted, one leader, one misfortune",
        Setup {
            machines: 2,
            leaders: 1,
            claims: 1,
            deletes: true,
            faults: 1,
            release_orphans: true,
            ..CALM
        },
    ),
];

fn told(name: &str, explored: &Explored) -> bool {
    println!("{name}: {} states", explored.states);
    if let Some((promise, way)) = &explored.broken {
        println!("  broken: {promise}");
        for step in way {
            println!("    {step}");
        }
    }
    explored.broken.is_none()
}

#[test]
fn no_order_of_steps_breaks_a_promise() {
    let mut all = Vec::new();
    for (name, setup) in SETUPS {
        let explored = explore(&setup);
        assert!(told(name, &explored), "{name}");
        all.push(explored);
    }
    assert!(all.iter().any(|one| one.all_provisioned));
    assert!(all.iter().any(|one| one.used_again));
    assert!(all.iter().any(|one| one.lost));
}

/// The promise that each mutant breaks.
fn hunt(mutant: Mutant, setup: &Setup) -> Option<&'static str> {
    let mutant = Some(mutant);
    let broken = explore(&Setup { mutant, ..*setup }).broken;
    broken.map(|(promise, _)| promise)
}

#[test]
fn every_broken_decision_is_caught() {
    let mut escaped = Vec::new();
    for (mutant, at) in mutant::ALL {
        match hunt(mutant, &SETUPS[at].1) {
            Some(promise) => println!("{mutant:?}: {promise}"),
            None => escaped.push(mutant),
        }
    }
    assert!(escaped.is_empty(), "not caught: {escaped:?}");
}
