//! What a command wants of the chosen nodes. It decides for each node as it was read, and again
//! whenever the node is read again. In between, another request may have been made, or an upgrade
//! may have ended.

use super::undo::{self, Rollback};
use super::wish::{Turn, Wish, Wishless};
use super::{ask, retry};
use crate::duration::Span;
use crate::view::NodeView;

/// The goal and its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    /// The goal.
    pub aim: Aim,
    /// The minimum time for which the new system must be healthy.
    pub soak: Option<Span>,
    /// The nodes were named, so the caller expects that there is something to do on each.
    pub named: bool,
}

/// The goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Upgrade as wished.
    Upgrade(Wish),
    /// Retry what failed.
    Retry,
    /// Return to the previous system.
    Rollback(Rollback),
}

impl Errand {
    /// Decides what to do about a node, and what to request. `first` is the node as the person saw
    /// it, and `node` is its current state.
    #[must_use]
    pub fn decide(&self, first: &NodeView, node: &NodeView) -> (Turn, Option<Wish>) {
        match self.wish(first, node) {
            Ok(wish) => (ask::upgrade(node, &wish), Some(wish)),
            Err(why) => (self.turn(why), None),
        }
    }

    fn wish(&self, first: &NodeView, node: &NodeView) -> Result<Wish, Wishless> {
        let wish = match &self.aim {
            Aim::Upgrade(wish) => Ok(wish.clone()),
            Aim::Retry => retry::wish(first, node),
            Aim::Rollback(rollback) => undo::wish(node, rollback),
        };
        wish.map(|wish| wish.soaking(self.soak))
    }

    /// What is requested, and what that undoes, for a person.
    #[must_use]
    pub fn words(&self, wish: &Wish, node: &NodeView) -> String {
        let undone = match &self.aim {
            Aim::Rollback(rollback) if !rollback.again => undo::undone(node).ok(),
            Aim::Rollback(_) | Aim::Upgrade(_) | Aim::Retry => None,
        };
        match undone {
            Some(image) => format!("{}, to undo the upgrade to {image}", wish.image),
            None => wish.image.clone(),
        }
    }

    /// Whether the goal is the same for all nodes. Labels may select nodes with different last
    /// upgrades.
    ///
    /// # Errors
    /// A message that says how to make it unambiguous.
    pub fn is_clear(&self, nodes: &[NodeView]) -> Result<(), String> {
        match &self.aim {
            Aim::Rollback(rollback) if !self.named => undo::is_clear(nodes, rollback),
            Aim::Rollback(_) | Aim::Upgrade(_) | Aim::Retry => Ok(()),
        }
    }

    /// If labels selected the nodes, a node without anything to do is not an error.
    fn turn(&self, why: Wishless) -> Turn {
        match why {
            Wishless::Done(why) => Turn::Done(why),
            Wishless::Needless(why) if !self.named => Turn::Done(why),
            Wishless::Needless(why) | Wishless::Refuse(why) => Turn::Refuse(why),
        }
    }
}
