//! The model for `stateright`.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

use stateright::{Model, Property};

use crate::befall::can_befall;
use crate::fault::{self, Fault};
use crate::machine::calm;
use crate::mistakes::Mutant;
use crate::plane::{Plane, Shape};
use crate::promises;
use crate::rest;
use crate::world::{Flaw, Left, State};

/// The number of states in a run without faults after which the run counts as restless. The longest
/// real run, two trials with all their deadlines, has fewer than 400.
pub const RESTLESS: usize = 1500;

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The calm successor.
    Goes,
    /// A fault.
    Strikes(Fault),
}

/// The explored model.
pub struct Chain {
    /// The images, by their flaw.
    pub flaws: Vec<Flaw>,
    /// The loader cannot clear its one-shot.
    pub stuck: bool,
    /// The guard does not see /boot.
    pub apart: bool,
    /// An earlier system is kept.
    pub kept: bool,
    /// The operator has hooks, hours, and load balancers that the agent informs.
    pub careful: bool,
    /// The operator blesses without an API server.
    pub alone: bool,
    /// The node is a member of a control plane of this shape.
    pub shape: Option<Shape>,
    /// The machine is a prepared host without a cluster.
    pub host: bool,
    /// The number of faults in one run.
    pub left: Left,
    /// The mutant that replaces the brain, if any.
    pub mutant: Option<Mutant>,
    resting: Mutex<HashSet<u64>>,
}

impl Chain {
    /// A model in its initial state.
    #[must_use]
    pub fn new(flaws: &[Flaw], stuck: bool, left: Left, mutant: Option<Mutant>) -> Self {
        Self {
            flaws: flaws.to_vec(),
            stuck,
            apart: false,
            kept: false,
            careful: false,
            alone: false,
            shape: None,
            host: false,
            left,
            mutant,
            resting: Mutex::default(),
        }
    }

    /// The same model with an operator who has hooks, hours, and load balancers that the agent
    /// informs.
    #[must_use]
    pub fn with_care(mut self) -> Self {
        self.careful = true;
        self
    }

    /// The same model with an operator who blesses without an API server.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// The same model on a member of a control plane.
    #[must_use]
    pub fn on_a_control_plane(mut self, shape: Shape) -> Self {
        self.shape = Some(shape);
        self
    }

    /// The same model on a prepared host without a cluster.
    #[must_use]
    pub fn on_a_host(mut self) -> Self {
        self.host = true;
        self
    }

    /// The same model with /boot as a separate file system, which the guard does not see.
    #[must_use]
    pub fn with_boot_apart(mut self) -> Self {
        self.apart = true;
        self
    }

    /// The same model with a kept earlier system, which a person may pick at any boot.
    #[must_use]
    pub fn with_kept(mut self) -> Self {
        self.kept = true;
        self
    }

    /// Whether this exploration meets whatever the other one meets.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        let operator = |chain: &Self| (chain.careful, chain.alone);
        let machine = |chain: &Self| {
            (
                chain.stuck,
                chain.apart,
                chain.kept,
                chain.shape,
                chain.host,
            )
        };
        let flaws = other.flaws.iter().all(|flaw| self.flaws.contains(flaw));
        let (more, less) = (self.left, other.left);
        let faults = less.all <= more.all && less.cuts <= more.cuts && less.people <= more.people;
        operator(self) == operator(other) && machine(self) == machine(other) && flaws && faults
    }

    /// The error at the end of the calm run from this state, or the promise that the run breaks on
    /// its way. The check runs on every state, and faults are finite, so a run that never rests
    /// would have a last fault, and the check would find it after that fault. A mutant is caught
    /// where its last fault strikes, however long the way from there to the broken promise is.
    fn restless(&self, state: &State) -> Option<&'static str> {
        let mut walked = Vec::new();
        let mut now = state.clone();
        loop {
            let print = print(&now);
            if self.is_known(print) {
                break;
            }
            walked.push(print);
            match calm(self.mutant, &now) {
                None => match now.ghost.broken.or_else(|| rest::unrest(&now)) {
                    None => break,
                    found => return found,
                },
                Some(_) if walked.len() > RESTLESS => return Some("every run comes to rest"),
                Some(next) => now = next,
            }
        }
        if let Ok(mut resting) = self.resting.lock() {
            resting.extend(walked);
        }
        None
    }

    fn is_known(&self, print: u64) -> bool {
        self.resting
            .lock()
            .is_ok_and(|resting| resting.contains(&print))
    }

    /// The error in a state.
    #[must_use]
    pub fn wrong(&self, state: &State) -> Option<&'static str> {
        promises::broken(state).or_else(|| self.restless(state))
    }
}

fn print(state: &State) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}

impl Model for Chain {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let state = |flaw: &Flaw| State {
            careful: self.careful,
            alone: self.alone,
            apart: self.apart,
            plane: self.shape.map(Plane::new),
            ..State::new(*flaw, self.stuck, self.left)
        };
        let states = self.flaws.iter().map(state);
        let states = states.map(|state| if self.kept { state.with_kept() } else { state });
        let states = states.map(|state| if self.host { state.on_a_host() } else { state });
        states.collect()
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.push(Action::Goes);
        let mut faults = Vec::new();
        fault::possible(state, &mut faults);
        faults.retain(|fault| can_befall(state, *fault));
        actions.extend(faults.into_iter().map(Action::Strikes));
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        match action {
            Action::Goes => calm(self.mutant, state),
            Action::Strikes(fault) => Some(fault::strike(state, fault)),
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("every promise is kept", |_: &Self, state: &State| {
                promises::broken(state).is_none()
            }),
            Property::always(
                "every run comes to a good rest",
                |chain: &Self, state: &State| {
                    promises::broken(state).is_some() || chain.restless(state).is_none()
                },
            ),
        ]
    }
}
