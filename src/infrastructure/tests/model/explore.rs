//! Explores every order of steps, shortest first.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};

use crate::objects::Machine;
use crate::server::{Broken, apply};
use crate::world::{Setup, State};
use crate::write::{Leader, Write};
use crate::{leader, real};

/// What came out.
pub struct Explored {
    pub states: usize,
    /// The promise that broke, and the way there.
    pub broken: Option<(Broken, Vec<String>)>,
    /// Some state has every machine provisioned.
    pub all_provisioned: bool,
    /// Some state has a host with a second claim after a first one.
    pub used_again: bool,
    /// Some state has a machine that went after its host was lost.
    pub lost: bool,
}

type Step = (String, Result<State, Broken>);

/// All steps from a state.
fn steps(setup: &Setup, state: &State) -> Vec<Step> {
    let mut all = Vec::new();
    for at in 0..setup.leaders {
        lead(setup, state, at, &mut all);
    }
    for at in 0..setup.hosts {
        on_host(setup, state, at, &mut all);
    }
    for at in 0..setup.machines {
        let machine = state.objects.machines[at];
        if setup.deletes && machine.exists && !machine.deleting {
            let mut next = *state;
            next.objects.machines[at].deleting = true;
            if !machine.finalizer {
                next.objects.machines[at].exists = false;
            }
            next.touch_machine(at);
            all.push((format!("delete m{at}"), Ok(next)));
        }
    }
    if setup.restores && !state.restored {
        restore(state, &mut all);
    }
    all
}

fn lead(setup: &Setup, state: &State, at: usize, all: &mut Vec<Step>) {
    let with = |leader: Leader| {
        let mut next = *state;
        next.leaders[at] = leader;
        next
    };
    match state.leaders[at] {
        Leader::Idle => {
            for machine in (0..setup.machines).filter(|at| state.objects.machines[*at].exists) {
                let was = state.objects.machines[machine];
                let saw = Leader::SawMachine {
                    at: machine,
                    was,
                    stale: false,
                };
                all.push((format!("leader {at} reads m{machine}"), Ok(with(saw))));
            }
            for host in 0..setup.hosts {
                if let Some(write) = leader::for_host(setup, state, host) {
                    let writes = Leader::Writes {
                        write,
                        stale: false,
                    };
                    all.push((format!("leader {at} decides {write:?}"), Ok(with(writes))));
                }
            }
        }
        Leader::SawMachine {
            at: machine,
            was,
            stale,
        } => {
            for write in leader::for_machine(setup, state, machine, was) {
                let stale = stale && write.machine().is_some();
                let writes = Leader::Writes { write, stale };
                let after = allowed(state, was, write).map(|()| with(writes));
                all.push((format!("leader {at} decides {write:?}"), after));
            }
            all.push((format!("leader {at} dies"), Ok(with(Leader::Idle))));
        }
        Leader::Writes { write, stale } => {
            let after = apply(setup, &with(Leader::Idle), write, stale);
            all.push((format!("leader {at} writes {write:?}, old: {stale}"), after));
            all.push((format!("leader {at} dies"), Ok(with(Leader::Idle))));
        }
    }
}

/// What a leader must not decide, by the hosts as they are while it decides.
fn allowed(state: &State, was: Machine, write: Write) -> Result<(), Broken> {
    if matches!(write, Write::GiveUp(host) if !state.real[host].away) {
        return Err("no host that answers is given up");
    }
    let own = was.named.filter(|_| !was.deleting).map(|named| named.claim);
    let has_node = |host: usize| own.is_some() && state.real[host].kubelet == own;
    if matches!(write, Write::Release(host) if has_node(host)) {
        return Err("no host with a Node of its machine is ordered to leave");
    }
    Ok(())
}

fn on_host(setup: &Setup, state: &State, at: usize, all: &mut Vec<Step>) {
    let mut push = |what: &str, next: Option<State>| {
        if let Some(next) = next {
            all.push((format!("h{at} {what}"), Ok(next)));
        }
    };
    push("acts", real::act(state, at));
    push("reports", real::report(state, at));
    if state.real[at].away {
        let mut next = *state;
        next.real[at].away = false;
        push("is back", Some(next));
    }
    if state.faults > 0 && setup.faults > 0 {
        let pay = |mut next: State| {
            next.faults -= 1;
            next
        };
        push("fails", real::fail(state, at).map(pay));
        push("reboots", real::reboot(state, at).map(pay));
        if !state.real[at].away {
            let mut next = pay(*state);
            next.real[at].away = true;
            push("is away", Some(next));
        }
    }
}

/// A restored server has old objects, and nobody who was about to write.
fn restore(state: &State, all: &mut Vec<Step>) {
    if let Some(backup) = state.backup {
        let next = State {
            objects: backup,
            backup: None,
            leaders: Default::default(),
            restored: true,
            told: Default::default(),
            ..*state
        };
        all.push(("the backup is restored".to_owned(), Ok(next)));
    } else {
        let next = State {
            backup: Some(state.objects),
            ..*state
        };
        all.push(("a backup is made".to_owned(), Ok(next)));
    }
}

/// Two hosts never run a kubelet for one machine that was not restored, and two machines never have
/// one host.
fn check(state: &State) -> Result<(), Broken> {
    let live = |at: usize| {
        let machine = state.objects.machines[at];
        let named = machine
            .named
            .filter(|named| machine.exists && named.committed)?;
        let ended = state.real[named.host].ended & (1 << named.claim) != 0;
        (!ended).then_some(named.host)
    };
    let (first, second) = (live(0), live(1));
    if first.is_some() && first == second {
        return Err("no host has two machines");
    }
    Ok(())
}

/// The number of a state. 64 bits tell the states of a run apart.
fn number(state: &State) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}

/// Explores everything.
pub fn explore(setup: &Setup) -> Explored {
    let first = State::new(setup).canonical();
    let mut from: HashMap<u64, (u64, String)> = HashMap::new();
    let mut waiting = VecDeque::from([first]);
    from.insert(number(&first), (0, "begin".to_owned()));
    let mut explored = Explored {
        states: 0,
        broken: None,
        all_provisioned: false,
        used_again: false,
        lost: false,
    };
    while let Some(state) = waiting.pop_front() {
        explored.states += 1;
        if explored.states.is_multiple_of(200_000) {
            println!("{} states so far", explored.states);
        }
        look(setup, &state, &mut explored);
        let own = number(&state);
        for (what, next) in steps(setup, &state) {
            let next = next.and_then(|next| check(&next).map(|()| next.canonical()));
            match next {
                Ok(next) => {
                    let id = number(&next);
                    if let std::collections::hash_map::Entry::Vacant(entry) = from.entry(id) {
                        entry.insert((own, what));
                        waiting.push_back(next);
                    }
                }
                Err(promise) => {
                    let mut way = path(&from, own);
                    way.push(what);
                    explored.broken = Some((promise, way));
                    return explored;
                }
            }
        }
    }
    explored
}

/// Notes what must be possible, so that a model in which nothing happens proves nothing.
fn look(setup: &Setup, state: &State, explored: &mut Explored) {
    let machines = &state.objects.machines[..setup.machines];
    explored.all_provisioned |= machines.iter().all(|machine| machine.provisioned);
    for (host, real) in state.objects.hosts.iter().zip(state.real) {
        let again = host
            .claim
            .is_some_and(|claim| claim.told && real.ended != 0);
        explored.used_again |= again;
        let gone = |at: usize| setup.machines > at && !state.objects.machines[at].exists;
        explored.lost |= host
            .claim
            .is_some_and(|claim| claim.lost && gone(claim.machine.min(1)));
    }
}

fn path(from: &HashMap<u64, (u64, String)>, mut at: u64) -> Vec<String> {
    let mut way = Vec::new();
    while let Some((before, what)) = from.get(&at).filter(|(before, _)| *before != 0) {
        way.push(what.clone());
        at = *before;
    }
    way.reverse();
    way
}
