//! What is seen: facts of this moment, gathered by those who act and handed to [`crate::decide()`].

mod api;
mod health;
mod machine;
mod node_view;
mod turn;

pub use api::{Api, NoNetwork};
pub use health::{Check, Health};
pub use machine::{Hooks, Machine, OneShot, STAGED};
pub use node_view::{Asked, NodeView};
pub use turn::Turn;

/// The state of the world as one home sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// What the machine shows.
    pub machine: Machine,
    /// What our Node and the API server show.
    pub node: NodeView,
    /// Who looks, when, and what has ended.
    pub turn: Turn,
}

impl Observation {
    /// The same, but for this.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}
