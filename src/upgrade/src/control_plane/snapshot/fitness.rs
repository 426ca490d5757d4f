//! Whether a snapshot of this member is worth having.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::control_plane::member::{LAG, Status};
use crate::control_plane::survey::{Alarm, AlarmKind};
use crate::control_plane::text::Name;

/// Why no snapshot is made. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "because",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Refusal {
    /// etcd is not on this node.
    External,
    /// The member knows no leader, so nobody knows how old its data is.
    NoLeader,
    /// The member has no vote yet, and may not have all data.
    Learner,
    /// The member is too many entries behind.
    Behind {
        /// How many.
        entries: u64,
    },
    /// Members hold different data, and nobody knows which is right.
    Corrupt,
    /// There is too little room.
    NoRoom {
        /// Where.
        path: Name,
        /// How many bytes more are needed.
        missing: u64,
    },
    /// Another run makes a snapshot.
    Running,
}

/// Looks at the own member. `lag` is how many entries it is behind the member that has the most.
///
/// The alarm NOSPACE is no reason: the data is whole, and a full database is worth a snapshot.
///
/// # Errors
/// A snapshot of this member could miss what the cluster has confirmed, or could hold wrong data.
pub fn fitness(own: &Status, lag: u64, alarms: &[Alarm]) -> Result<(), Refusal> {
    if alarms.iter().any(is_corrupt) {
        return Err(Refusal::Corrupt);
    }
    if own.learner {
        return Err(Refusal::Learner);
    }
    if own.leader.is_none() {
        return Err(Refusal::NoLeader);
    }
    match lag {
        0..=LAG => Ok(()),
        entries => Err(Refusal::Behind { entries }),
    }
}

fn is_corrupt(alarm: &Alarm) -> bool {
    match alarm.kind {
        AlarmKind::Corrupt => true,
        AlarmKind::NoSpace | AlarmKind::Other(_) => false,
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::External => f.write_str(
                "etcd is not on this node: it is external. Make its snapshots where it runs.",
            ),
            Self::NoLeader => f.write_str(
                "the member of this node knows no leader: its data may be old. Wait for a quorum, and remove no member.",
            ),
            Self::Learner => f.write_str(
                "the member of this node has no vote: it may lack data. Wait until it is promoted.",
            ),
            Self::Behind { entries } => write!(
                f,
                "the member of this node is {entries} entries behind: its data is old. Wait until it has caught up."
            ),
            Self::Corrupt => f.write_str(
                "etcd has the alarm CORRUPT: its members hold different data. Find out which one is right before anything restarts.",
            ),
            Self::NoRoom { path, missing } => write!(
                f,
                "{path} has too little room: {} MiB more are needed for a snapshot of etcd. Make room there.",
                missing.div_ceil(1 << 20)
            ),
            Self::Running => f.write_str(
                "another run makes a snapshot: it has the folder. Wait for its end.",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control_plane::{EtcdId, EtcdVersion};

    fn status() -> Status {
        Status {
            id: EtcdId(1),
            version: EtcdVersion::new(3, 6, 8),
            leader: Some(EtcdId(2)),
            term: 7,
            applied: 10_000,
            learner: false,
            errors: Vec::new(),
            db_bytes: 1,
            quota_bytes: None,
        }
    }

    fn alarm(kind: AlarmKind) -> Alarm {
        let member = EtcdId(3);
        Alarm { member, kind }
    }

    #[test]
    fn a_member_that_has_caught_up_may_give_a_snapshot() {
        assert_eq!(fitness(&status(), LAG, &[]), Ok(()));
        let full = Status {
            errors: vec!["alarm:NOSPACE".into()],
            ..status()
        };
        assert_eq!(fitness(&full, 0, &[alarm(AlarmKind::NoSpace)]), Ok(()));
    }

    #[test]
    fn old_or_wrong_data_is_not_saved() {
        let learner = true;
        let leader = None;
        let behind = Refusal::Behind { entries: LAG + 1 };
        let corrupt = [alarm(AlarmKind::NoSpace), alarm(AlarmKind::Corrupt)];
        for (own, lag, alarms, refusal) in [
            (status(), 0, &corrupt[..], Refusal::Corrupt),
            (
                Status {
                    learner,
                    ..status()
                },
                0,
                &[],
                Refusal::Learner,
            ),
            (Status { leader, ..status() }, 0, &[], Refusal::NoLeader),
            (status(), LAG + 1, &[], behind),
        ] {
            assert_eq!(fitness(&own, lag, alarms), Err(refusal));
        }
    }
}
