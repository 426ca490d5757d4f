//! What the verbs `lock` and `unlock` answer.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::claim::Ending;
use super::holder::Holder;
use crate::control_plane::failure::Failure;
use crate::control_plane::span::span;
use crate::control_plane::text::Name;
use crate::exit;

/// The answer to `careen-control lock`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "answer",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Locking {
    /// This upgrade holds the lock; it was read back after the write.
    Locked {
        /// This upgrade.
        holder: Holder,
        /// Since when, in seconds since 1970, if the Lease says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<u64>,
        /// How it got the lock.
        taken: Taken,
    },
    /// Another one holds it.
    Busy {
        /// Who.
        holder: Name,
        /// Since when, in seconds since 1970, if the Lease says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<u64>,
        /// For how many seconds, by the clock of this node.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        passed: Option<u64>,
    },
    /// The lock could not be read or written. It may have been written all the same.
    Failed(Failure),
}

/// How an upgrade got the lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Taken {
    /// Nobody held it.
    Free,
    /// It had it already.
    Before,
    /// From one that is over.
    Over {
        /// Who held it.
        from: Name,
        /// Why that one is over.
        because: Ending,
    },
}

/// The answer to `careen-control unlock`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "answer",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Unlocking {
    /// The Lease of this upgrade is removed.
    Released {
        /// This upgrade.
        holder: Holder,
    },
    /// There was no lock: an earlier run or somebody else removed it.
    Absent,
    /// Another one holds the lock, and it stays.
    Others {
        /// Who.
        holder: Name,
    },
    /// The lock could not be read or removed.
    Failed(Failure),
}

impl Locking {
    /// The exit code of the program.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Locked { .. } => exit::DONE,
            Self::Busy { .. } => exit::UNFIT,
            Self::Failed(_) => exit::FAILED,
        }
    }
}

impl Unlocking {
    /// The exit code of the program: an upgrade that holds nothing has nothing to release.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Released { .. } | Self::Absent | Self::Others { .. } => exit::DONE,
            Self::Failed(_) => exit::FAILED,
        }
    }
}

impl fmt::Display for Locking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked { holder, taken, .. } => write!(f, "{holder} {taken}"),
            Self::Busy { holder, passed, .. } => {
                f.write_str("another upgrade has the control plane")?;
                if let Some(passed) = passed {
                    write!(f, " since {}", span(*passed))?;
                }
                write!(
                    f,
                    ": {holder}. Wait for its end; look at that node if it does not end."
                )
            }
            Self::Failed(failure) => failure.fmt(f),
        }
    }
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Free => f.write_str("has taken the lock of the control plane."),
            Self::Before => f.write_str("holds the lock of the control plane already."),
            Self::Over { from, because } => write!(
                f,
                "has taken the lock of the control plane over from {from}, {}.",
                because.words()
            ),
        }
    }
}

impl fmt::Display for Unlocking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Released { holder } => {
                write!(f, "{holder} has released the lock of the control plane.")
            }
            Self::Absent => f.write_str(
                "The control plane has no lock: an earlier run or somebody else has removed it.",
            ),
            Self::Others { holder } => {
                write!(
                    f,
                    "{holder} holds the lock of the control plane, and keeps it."
                )
            }
            Self::Failed(failure) => failure.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_str, json, to_value};

    use super::*;

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        let holder: Holder = "cp-1/7".parse().unwrap();
        let (from, because) = ("cp-2/6".into(), Ending::NodeGone);
        let over = Locking::Locked {
            holder: holder.clone(),
            since: Some(5),
            taken: Taken::Over { from, because },
        };
        let written = json!({ "answer": "locked", "holder": "cp-1/7", "since": 5,
            "taken": { "how": "over", "from": "cp-2/6", "because": "nodeGone" } });
        assert_eq!(to_value(&over).unwrap(), written);
        assert_eq!(from_str::<Locking>(&written.to_string()).unwrap(), over);
        let newer = r#"{"answer":"busy","holder":"cp-2/6","moon":"full"}"#;
        let busy: Locking = from_str(newer).unwrap();
        assert_eq!(busy.exit_code(), 3);
        let text = to_value(Unlocking::Released { holder }).unwrap();
        assert_eq!(text, json!({ "answer": "released", "holder": "cp-1/7" }));
    }

    #[test]
    fn who_waits_is_told_for_whom_and_since_when() {
        let busy = Locking::Busy {
            holder: "cp-2/6".into(),
            since: Some(1),
            passed: Some(7300),
        };
        let said = busy.to_string();
        assert!(said.starts_with("another upgrade has the control plane since 2 h: cp-2/6. "));
        assert!(said.ends_with('.'), "{said}");
    }
}
