//! A member or an endpoint that was asked for its status.

use upgrade::control_plane::{Answer, EtcdId, Listed};

use super::address::{Address, Place};

/// A member or an endpoint, and what it said.
pub(super) struct Asked {
    pub listed: Listed,
    pub answer: Answer,
    /// Where it was asked last.
    pub address: Option<Address>,
    pub place: Place,
}

/// Each with its answer, to be judged.
pub(super) fn pairs(asked: &[Asked]) -> Vec<(Listed, Answer)> {
    let pair = |one: &Asked| (one.listed.clone(), one.answer.clone());
    asked.iter().map(pair).collect()
}

impl Asked {
    /// The member that answered.
    pub fn id(&self) -> Option<EtcdId> {
        match &self.answer {
            Answer::Status(status) => Some(status.id),
            Answer::Silent(_) => None,
        }
    }

    /// It is on this machine and on no other.
    pub const fn is_here(&self) -> bool {
        match self.place {
            Place::Here | Place::Loopback => true,
            Place::Shared | Place::Elsewhere => false,
        }
    }
}
