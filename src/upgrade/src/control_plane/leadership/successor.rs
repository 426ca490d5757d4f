//! The member that leads etcd next, in place of this one.

use serde::{Deserialize, Serialize};

use crate::control_plane::etcd::EtcdId;
use crate::control_plane::member::Member;
use crate::control_plane::text::Name;

/// Why the leadership stays where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "because",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Stay {
    /// etcd is not on this node.
    External,
    /// This member is the only one.
    Alone,
    /// Another member leads.
    Follows {
        /// Its name.
        leader: Name,
    },
    /// Nobody leads, or the members do not agree who does.
    NoLeader,
    /// No other member is healthy and has a vote.
    NoneHealthy,
}

/// The healthy voter that has applied the most, besides this member, which leads.
///
/// # Errors
/// This member does not lead, or nobody can follow it.
pub fn successor(members: &[Member], me: EtcdId) -> Result<&Member, Stay> {
    let leader = members.iter().find(|member| member.leader);
    let leader = leader.ok_or(Stay::NoLeader)?;
    if leader.id != me {
        let leader = leader.name.clone();
        return Err(Stay::Follows { leader });
    }
    let others = || members.iter().filter(|member| member.id != me);
    if others().count() == 0 {
        return Err(Stay::Alone);
    }
    // A member whose lag is unknown did not answer, so it is not healthy either.
    let healthy = others().filter(|member| member.is_healthy());
    healthy
        .min_by_key(|member| (member.lag.unwrap_or(u64::MAX), member.id))
        .ok_or(Stay::NoneHealthy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(id: u64, lag: u64) -> Member {
        Member {
            id: EtcdId(id),
            name: format!("cp-{id}").into(),
            version: None,
            started: true,
            learner: false,
            leader: id == 1,
            lag: Some(lag),
            sick: None,
        }
    }

    fn chosen(members: &[Member]) -> Result<u64, Stay> {
        successor(members, EtcdId(1)).map(|member| member.id.0)
    }

    fn sick(id: u64) -> Member {
        Member {
            sick: Some("no route".into()),
            ..member(id, 0)
        }
    }

    #[test]
    fn the_member_that_has_applied_the_most_follows() {
        assert_eq!(chosen(&[member(1, 0), member(2, 9), member(3, 4)]), Ok(3));
        assert_eq!(chosen(&[member(3, 4), member(2, 4), member(1, 0)]), Ok(2));
        assert_eq!(chosen(&[member(1, 0), member(2, 9)]), Ok(2));
    }

    #[test]
    fn who_is_sick_learns_or_never_started_does_not_follow() {
        let learner = Member {
            learner: true,
            ..member(3, 0)
        };
        let new = Member {
            started: false,
            ..member(4, 0)
        };
        let all = [member(1, 0), sick(2), learner, new];
        assert_eq!(chosen(&all), Err(Stay::NoneHealthy));
        let with = [&all[..], &[member(5, 4000)]].concat();
        assert_eq!(chosen(&with), Ok(5));
    }

    #[test]
    fn who_does_not_lead_stays() {
        let leads = |id: u64| Member {
            leader: true,
            ..member(id, 0)
        };
        let follower = Member {
            leader: false,
            ..member(1, 0)
        };
        let leader = "cp-2".into();
        let two = [follower.clone(), leads(2)];
        assert_eq!(chosen(&two), Err(Stay::Follows { leader }));
        assert_eq!(chosen(&[follower, member(2, 0)]), Err(Stay::NoLeader));
        assert_eq!(chosen(&[]), Err(Stay::NoLeader));
        assert_eq!(chosen(&[member(1, 0)]), Err(Stay::Alone));
    }
}
