//! The members of etcd, each judged by what it has answered itself.

use serde::{Deserialize, Serialize};

use super::etcd::{EtcdId, EtcdVersion};
use super::text::{Detail, Name};

/// How many entries a healthy member may be behind the member that has applied the most. etcd
/// itself refuses new requests where a member is this far behind what is committed.
pub const LAG: u64 = 5000;

/// A member as the list of members has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its id.
    pub id: EtcdId,
    /// Its name; empty until the member starts for the first time.
    pub name: Name,
    /// It has no vote yet.
    pub learner: bool,
}

/// What a member said when it was asked for its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Its status.
    Status(Status),
    /// It did not answer, or not so that one could read it.
    Silent(Detail),
}

/// The status of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Who answers.
    pub id: EtcdId,
    /// The program's version.
    pub version: EtcdVersion,
    /// The member that leads, as far as this one knows.
    pub leader: Option<EtcdId>,
    /// The term in which it leads. A higher one is newer.
    pub term: u64,
    /// The last entry that it has applied.
    pub applied: u64,
    /// It has no vote yet.
    pub learner: bool,
    /// What it complains about.
    pub errors: Vec<Detail>,
    /// The size of its database on the disk.
    pub db_bytes: u64,
    /// The size that raises an alarm, if it says so.
    pub quota_bytes: Option<u64>,
}

/// A member, judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Its id.
    pub id: EtcdId,
    /// Its name, which is the Node's in a cluster of kubeadm's.
    pub name: Name,
    /// The version that it runs, if it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<EtcdVersion>,
    /// It has started at least once since it was added.
    pub started: bool,
    /// It has no vote yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub learner: bool,
    /// It leads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leader: bool,
    /// How many entries it is behind, if it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<u64>,
    /// Why it does not count as healthy; absent if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sick: Option<Detail>,
}

impl Member {
    /// Whether it counts for a quorum.
    #[must_use]
    pub const fn is_healthy(&self) -> bool {
        self.started && !self.learner && self.sick.is_none()
    }

    /// The name for a sentence. A member that never started has none.
    #[must_use]
    pub fn called(&self) -> String {
        match self.name.is_empty() {
            true => format!("the member {} without a name", self.id),
            false => self.name.to_string(),
        }
    }
}

/// Judges the members together: who leads, and how far each is behind.
#[must_use]
pub fn members(asked: &[(Listed, Answer)]) -> Vec<Member> {
    let statuses = || asked.iter().filter_map(|(_, answer)| answer.status());
    // After an election some members still name the leader of an older term. In one term all name
    // the same, unless one is broken.
    let agree = |one: &Status| {
        statuses()
            .filter(|status| status.leader == one.leader)
            .count()
    };
    let newest = statuses().max_by_key(|one| (one.term, one.leader.is_some(), agree(one)));
    let all = All {
        leader: newest.and_then(|status| status.leader),
        applied: statuses().map(|status| status.applied).max().unwrap_or(0),
    };
    asked
        .iter()
        .map(|(listed, answer)| all.judge(listed, answer))
        .collect()
}

/// What the members say together.
struct All {
    leader: Option<EtcdId>,
    applied: u64,
}

impl All {
    fn judge(&self, listed: &Listed, answer: &Answer) -> Member {
        let status = answer.status();
        Member {
            id: listed.id,
            name: listed.name.clone(),
            version: status.map(|status| status.version),
            started: !listed.name.is_empty(),
            learner: listed.learner || status.is_some_and(|status| status.learner),
            leader: self.leader == Some(listed.id),
            lag: status.map(|status| self.lag(status)),
            sick: match answer {
                Answer::Silent(why) => Some(why.clone()),
                Answer::Status(status) => self.complaint(listed, status),
            },
        }
    }

    fn lag(&self, status: &Status) -> u64 {
        self.applied.saturating_sub(status.applied)
    }

    fn complaint(&self, listed: &Listed, status: &Status) -> Option<Detail> {
        if status.id != listed.id {
            let text = format!("the member {} answers at its address", status.id);
            return Some(text.into());
        }
        if let Some(error) = status.errors.first() {
            return Some(error.clone());
        }
        let lag = self.lag(status);
        match status.leader {
            None => Some("it knows no leader".into()),
            leader if leader != self.leader => Some("it follows an older leader".into()),
            Some(_) if lag > LAG => Some(format!("it is {lag} entries behind").into()),
            Some(_) => None,
        }
    }
}

impl Answer {
    const fn status(&self) -> Option<&Status> {
        match self {
            Self::Status(status) => Some(status),
            Self::Silent(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(id: u64) -> Listed {
        Listed {
            id: EtcdId(id),
            name: format!("cp-{id}").into(),
            learner: false,
        }
    }

    fn status(id: u64) -> Status {
        Status {
            id: EtcdId(id),
            version: EtcdVersion::new(3, 6, 8),
            leader: Some(EtcdId(1)),
            term: 7,
            applied: 10_000,
            learner: false,
            errors: Vec::new(),
            db_bytes: 1,
            quota_bytes: None,
        }
    }

    /// Two healthy members, and a third with this answer.
    fn third(answer: Answer) -> Member {
        let asked = [
            (listed(1), Answer::Status(status(1))),
            (listed(2), Answer::Status(status(2))),
            (listed(3), answer),
        ];
        let all = members(&asked);
        assert!(all[0].leader && all[0].is_healthy() && all[1].is_healthy());
        all[2].clone()
    }

    fn changed(change: impl FnOnce(&mut Status)) -> Answer {
        let mut status = status(3);
        change(&mut status);
        Answer::Status(status)
    }

    #[test]
    fn a_member_that_answers_well_is_healthy() {
        let member = third(changed(|status| status.applied -= LAG));
        assert!(member.is_healthy() && !member.leader, "{member:?}");
        assert_eq!(member.lag, Some(LAG));
        assert_eq!(member.version, Some(EtcdVersion::new(3, 6, 8)));
    }

    #[test]
    fn each_thing_that_makes_a_member_sick_is_named() {
        for (answer, said) in [
            (
                Answer::Silent("no answer in 5 s".into()),
                "no answer in 5 s",
            ),
            (
                changed(|status| status.errors = vec!["alarm:NOSPACE".into()]),
                "alarm:NOSPACE",
            ),
            (changed(|status| status.leader = None), "it knows no leader"),
            (
                changed(|status| status.leader = Some(EtcdId(2))),
                "it follows an older leader",
            ),
            (
                changed(|status| status.applied -= LAG + 1),
                "it is 5001 entries behind",
            ),
            (
                changed(|status| status.id = EtcdId(2)),
                "the member 2 answers at its address",
            ),
        ] {
            let member = third(answer);
            assert!(!member.is_healthy(), "{member:?}");
            assert_eq!(member.sick.unwrap().as_str(), said);
        }
    }

    #[test]
    fn a_learner_counts_for_nothing_and_is_not_sick() {
        let member = third(changed(|status| status.learner = true));
        assert!(!member.is_healthy() && member.sick.is_none(), "{member:?}");
    }

    #[test]
    fn the_leader_is_that_of_the_newest_term() {
        let newer = |id| {
            Answer::Status(Status {
                term: 8,
                leader: Some(EtcdId(2)),
                ..status(id)
            })
        };
        let asked = [
            (listed(1), Answer::Status(status(1))),
            (listed(2), newer(2)),
            (listed(3), newer(3)),
        ];
        let all = members(&asked);
        let leads: Vec<bool> = all.iter().map(|member| member.leader).collect();
        assert_eq!(leads, [false, true, false]);
        assert!(all[0].sick.is_some() && all[1].is_healthy() && all[2].is_healthy());
    }

    #[test]
    fn without_any_answer_nobody_leads() {
        let silent = |id| (listed(id), Answer::Silent("no route".into()));
        let all = members(&[silent(1), silent(2)]);
        assert!(
            all.iter()
                .all(|member| !member.leader && !member.is_healthy())
        );
        assert!(members(&[]).is_empty());
    }

    #[test]
    fn a_member_that_never_started_has_no_name() {
        let unnamed = Listed {
            name: Name::default(),
            ..listed(3)
        };
        let silent = Answer::Silent("it has no address".into());
        let member = members(&[(unnamed, silent)]).remove(0);
        assert!(!member.started && !member.is_healthy());
        assert_eq!(member.called(), "the member 3 without a name");
    }
}
