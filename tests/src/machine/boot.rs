//! The power switch: the boot loader, and the guard on a trial.

use std::time::{Duration, Instant};

use upgrade::{Act, Home, Observation, OneShot, Policy, Step, decide};

use super::TestMachine;

impl TestMachine {
    /// Switches the machine off and on again, at any moment: the loader runs, then the guard if the
    /// boot is a trial. When the guard refuses, the machine boots once more.
    pub fn power_cycle(&self) {
        self.boot();
        while self.state().trial && !self.guard_lets_through() {
            self.boot();
        }
        self.down.send_replace(false);
    }

    fn boot(&self) {
        let mut state = self.state();
        state.boots += 1;
        (state.since, state.added) = (Instant::now(), Duration::ZERO);
        state.trial = state.one_shot == OneShot::Set;
        state.one_shot = OneShot::Clear;
        let last = state.deployments.len().saturating_sub(1);
        let next = if state.trial { last } else { 0 };
        state.booted = state.deployments[next].clone();
    }

    fn guard_lets_through(&self) -> bool {
        let mut store = self.store();
        let read = store.read();
        let machine = self.machine();
        let seen = guard_sees(machine);
        let decided = decide(&seen, &read, &Ok(Policy::default())).commit(&mut store);
        matches!(decided, Ok((_, Act::Begin(Step::Pass))))
    }
}

fn guard_sees(machine: Observation) -> Observation {
    machine.with(|seen| {
        seen.turn.home = Home::Stage;
        seen.machine.integrity = Some(Ok(()));
    })
}
