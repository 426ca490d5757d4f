//! Observations: facts of this moment, gathered by the callers of [`crate::decide()`].

mod api;
mod health;
mod last_trial;
mod machine;
mod node_view;
mod turn;

pub use api::{Api, NoNetwork};
pub use health::{Check, Health};
pub use last_trial::{LastTrial, TrialEnd, TrialNote};
pub use machine::{ControlPlaneSeen, Hooks, Machine, OneShot, STAGED, Unsound};
pub use node_view::{Asked, Membership, NodeView};
pub use turn::Turn;

pub use crate::cause::{Cause, Causes};

/// The state of the world as seen from one home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// What the machine shows.
    pub machine: Machine,
    /// What our Node and the API server show.
    pub node: NodeView,
    /// Who observes, when, and what has ended.
    pub turn: Turn,
}

impl Observation {
    /// The same observation with this change.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}
