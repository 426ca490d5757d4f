//! The agent's loop in this world, until there is nothing left to do.

use upgrade::decide::decide;
use upgrade::{Act, Finished, Home, Phase, Step, deadman};

use super::act::Ended;
use super::{CONNECTED, Cut, Flaw, Pen, World};

/// The most passes of the loop.
const PASSES: u32 = 2000;

/// How a pass of the agent ended.
enum Turn {
    /// Look again.
    Again(Option<Box<Finished>>),
    /// Nothing to do until the next request.
    Rest,
    /// The machine goes down.
    Down,
}

impl World {
    /// Runs the agent until the request is answered and nothing is left to do.
    ///
    /// # Panics
    /// That never happens, or an invariant is violated.
    #[expect(clippy::panic, reason = "a test's verdict")]
    pub fn live(&mut self) -> Phase {
        let mut finished = None;
        for _ in 0..PASSES {
            match self.turn(finished.take()) {
                Ok(Turn::Again(outcome)) => finished = outcome,
                Ok(Turn::Rest) => return self.at_rest(),
                Ok(Turn::Down) | Err(Cut::Power) => self.power_on(),
                // The outcome of the interrupted step is lost with the agent.
                Err(Cut::Kill) => self.pass_time(5000),
            }
        }
        panic!("it never comes to rest\n{}", self.log.join("\n"))
    }

    fn turn(&mut self, finished: Option<Box<Finished>>) -> Result<Turn, Cut> {
        if self.is_new(&self.running.system) && self.flaw == Flaw::AgentDead {
            return Ok(self.without_agent());
        }
        if self.is_new(&self.running.system) && self.flaw == Flaw::Unattended {
            self.pass_time(15_000);
            return Ok(Turn::Again(None));
        }
        if self.deadman_is_due() {
            return Ok(Turn::Down);
        }
        let seen = self.look(Home::Agent, finished.map(|boxed| *boxed));
        let record = Ok(self.record());
        let (_, act) = decide(&seen, &record, &Ok(self.policy.clone())).commit(&mut Pen(self))?;
        match act {
            Act::Begin(step) => self.begin(step),
            Act::Cancel => Ok(Turn::Again(None)),
            Act::Wait(until) => Ok(self.wait(until.map(|at| at.0))),
        }
    }

    fn begin(&mut self, step: Step) -> Result<Turn, Cut> {
        match self.perform(step)? {
            Ended::Told(finished) => Ok(Turn::Again(Some(finished))),
            Ended::Rebooting => {
                self.say("reboot");
                Ok(Turn::Down)
            }
        }
    }

    /// Time passes until the given moment, or until the API server comes or goes.
    fn wait(&mut self, until: Option<u64>) -> Turn {
        self.check_one_shot();
        let until = until.map(|at| at.saturating_sub(self.running.now.0).max(1));
        let connected = self.elapsed - self.running.now.0 + CONNECTED;
        let away = self.away.iter().flat_map(|away| [away.start, away.end]);
        let change = away
            .chain([connected])
            .filter(|at| *at > self.elapsed)
            .min();
        let change = change.map(|at| at - self.elapsed);
        match [until, change].into_iter().flatten().min() {
            None => Turn::Rest,
            Some(ms) => {
                self.pass_time(ms);
                Turn::Again(None)
            }
        }
    }

    /// A reboot in the meantime must not start a trial.
    fn check_one_shot(&self) {
        let phase = self.record().upgrade.map(|up| up.phase);
        let meant = matches!(phase, Some(Phase::Armed { .. }));
        assert!(
            meant || self.disk.one_shot.is_none(),
            "waits with a one-shot set\n{}",
            self.log.join("\n")
        );
    }

    /// Nothing judges the trial: the timer starts the deadman.
    fn without_agent(&mut self) -> Turn {
        self.pass_time(15_000);
        if self.deadman_is_due() {
            return Turn::Down;
        }
        Turn::Again(None)
    }

    /// The deadman also runs beside the agent, and knows the agent's request to wait only from the
    /// record.
    fn deadman_is_due(&mut self) -> bool {
        let due = deadman::is_due(&self.look(Home::Agent, None), &Ok(self.record()));
        if due {
            self.say("the deadman reboots");
        }
        due
    }

    /// Whether this system deserves to become the default.
    pub(super) fn flaw_is_harmless(&self) -> bool {
        self.flaw == Flaw::None
    }

    /// The end of a life, and the invariants at that point.
    fn at_rest(&mut self) -> Phase {
        let record = self.record();
        let log = || self.log.join("\n");
        let phase = record.upgrade.map_or(Phase::Accepted, |up| up.phase);
        assert!(phase.is_end(), "at rest while {}\n{}", phase.name(), log());
        assert!(!self.cordoned, "left cordoned\n{}", log());
        assert!(self.disk.one_shot.is_none(), "left armed\n{}", log());
        assert!(
            self.disk.deployments[0].same(&self.running.system),
            "the default does not run\n{}",
            log()
        );
        let failed = matches!(phase, Phase::Failed { .. });
        assert!(
            !failed || self.disk.deployments.len() == 1,
            "what failed was not cleaned away\n{}",
            log()
        );
        assert!(
            self.disk.deployments.len() <= 2,
            "deployments pile up\n{}",
            log()
        );
        assert!(
            self.trials <= self.policy.trials,
            "too many trial boots\n{}",
            log()
        );
        phase
    }
}
