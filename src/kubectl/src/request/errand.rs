//! What a command wants of the nodes that are chosen. It is decided of each node as it was read, and anew whenever that is read again: in
//! between others may have asked for something else, or it may have ended.

use super::undo::{self, Rollback};
use super::{Turn, Wish, retry, upgrade};
use crate::span::Span;
use crate::view::NodeView;

/// What is wanted, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    /// What.
    pub aim: Aim,
    /// For how long the new system must be healthy at least.
    pub soak: Option<Span>,
    /// The nodes were named: of each whoever has named it expects that there is something to do.
    pub named: bool,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aim {
    /// This.
    Upgrade(Wish),
    /// What has failed, once more.
    Retry,
    /// The system before.
    Rollback(Rollback),
}

/// Why there is nothing to wish of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wishless {
    /// It is done already.
    Done(String),
    /// There is nothing on it that it could be done to.
    Needless(String),
    /// It does not allow it.
    Refuse(String),
}

impl Errand {
    /// What to do about a node that is so by now and was so at `first`, when a person saw what it is about; and what to wish of it.
    #[must_use]
    pub fn decide(&self, first: &NodeView, node: &NodeView) -> (Turn, Option<Wish>) {
        match self.wish(first, node) {
            Ok(wish) => (upgrade(node, &wish), Some(wish)),
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

    /// What is asked for, and for a person what that undoes.
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

    /// Whether all know what is meant: labels may select nodes whose last upgrades were different ones.
    ///
    /// # Errors
    /// What is to be said to make it clear.
    pub fn is_clear(&self, nodes: &[NodeView]) -> Result<(), String> {
        match &self.aim {
            Aim::Rollback(rollback) if !self.named => undo::is_clear(nodes, rollback),
            Aim::Rollback(_) | Aim::Upgrade(_) | Aim::Retry => Ok(()),
        }
    }

    /// Of those that labels select it is no fault of one that there is nothing to do.
    fn turn(&self, why: Wishless) -> Turn {
        match why {
            Wishless::Done(why) => Turn::Done(why),
            Wishless::Needless(why) if !self.named => Turn::Done(why),
            Wishless::Needless(why) | Wishless::Refuse(why) => Turn::Refuse(why),
        }
    }
}
