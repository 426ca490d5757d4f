//! What the verb `yield` answers.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::successor::Stay;
use crate::control_plane::failure::Failure;
use crate::control_plane::text::Name;

/// The answer to `careen-control yield`. None of them stops an upgrade: whether the member may be
/// away is a question of the quorum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "answer",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Yielding {
    /// Another member leads now, and says so itself.
    Moved {
        /// The member that led.
        from: Name,
        /// The one that leads.
        to: Name,
    },
    /// There was nothing to move, or nobody to move it to.
    Stayed(Stay),
    /// etcd was asked, and nobody knows that another member leads.
    Failed(Failure),
}

impl fmt::Display for Yielding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Moved { from, to } => {
                write!(f, "etcd's leadership has moved from {from} to {to}.")
            }
            Self::Stayed(stay) => stay.fmt(f),
            Self::Failed(failure) => write!(f, "The leadership was not moved. {failure}"),
        }
    }
}

impl fmt::Display for Stay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nothing was moved: ")?;
        match self {
            Self::External => f.write_str("etcd is not on this node."),
            Self::Alone => f.write_str("this member is the only one."),
            Self::Follows { leader } => write!(f, "{leader} leads etcd."),
            Self::NoLeader => f.write_str("no member leads etcd."),
            Self::NoneHealthy => f.write_str("no other member is healthy and has a vote."),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        let leader = "cp-2".into();
        let stayed = Yielding::Stayed(Stay::Follows { leader });
        let written = json!({ "answer": "stayed", "because": "follows", "leader": "cp-2" });
        assert_eq!(to_value(&stayed).unwrap(), written);
        assert_eq!(from_value::<Yielding>(written).unwrap(), stayed);
        assert_eq!(stayed.to_string(), "Nothing was moved: cp-2 leads etcd.");
    }
}
