//! Whether this member of etcd may be away.
//!
//! One member more is away while a node reboots. The others must keep a majority of all voters by
//! themselves. No setting switches this rule off.

use super::etcd::EtcdId;
use super::member::Member;

/// What a look at the members says about the absence of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quorum {
    /// The members with a vote, this one too.
    pub voters: usize,
    /// The healthy voters without this one.
    pub others: usize,
    /// Whether this member may be away.
    pub may: Result<Leave, Hold>,
}

/// Why this member may be away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// It is the only one: the cluster is away with it, for as long as the node is.
    Alone,
    /// The others go on, and so many of them may fail as well.
    Spare(usize),
}

/// Why this member must stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The list of members does not have this one.
    Absent,
    /// Of two members neither may ever be away.
    TwoMembers,
    /// A member joins, and has no vote yet.
    Learner(String),
    /// A member was added and has never started.
    NotStarted(String),
    /// Too few of the others are healthy.
    TooFew {
        /// How many there must be.
        needed: usize,
        /// The others that are not.
        sick: Vec<String>,
    },
}

impl Quorum {
    /// How many of the others must be healthy: the majority of all voters.
    #[must_use]
    pub const fn needed(&self) -> usize {
        majority(self.voters)
    }
}

const fn majority(voters: usize) -> usize {
    voters / 2 + 1
}

/// Looks at the members as this one, which may leave.
#[must_use]
pub fn quorum(members: &[Member], me: EtcdId) -> Quorum {
    let voters = members.iter().filter(|member| !member.learner);
    let others = voters.clone().filter(|member| member.id != me);
    let (voters, others) = (
        voters.count(),
        others.filter(|one| one.is_healthy()).count(),
    );
    Quorum {
        voters,
        others,
        may: rule(members, me, voters, others),
    }
}

fn rule(members: &[Member], me: EtcdId, voters: usize, others: usize) -> Result<Leave, Hold> {
    let found = |is: fn(&Member) -> bool| members.iter().find(|member| is(member));
    if let Some(member) = found(|member| member.learner) {
        return Err(Hold::Learner(member.called()));
    }
    if let Some(member) = found(|member| !member.started) {
        return Err(Hold::NotStarted(member.called()));
    }
    if !members.iter().any(|member| member.id == me) {
        return Err(Hold::Absent);
    }
    let needed = majority(voters);
    match voters {
        1 => Ok(Leave::Alone),
        2 => Err(Hold::TwoMembers),
        _ => match others.checked_sub(needed) {
            Some(spare) => Ok(Leave::Spare(spare)),
            None => Err(too_few(members, me, needed)),
        },
    }
}

fn too_few(members: &[Member], me: EtcdId, needed: usize) -> Hold {
    let others = members.iter().filter(|member| member.id != me);
    let sick = others.filter(|member| !member.is_healthy());
    Hold::TooFew {
        needed,
        sick: sick.map(Member::called).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control_plane::text::Detail;

    /// The state that one member may have.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum State {
        Well,
        Sick,
        Learner,
        NotStarted,
    }
    use State::{Learner, NotStarted, Sick, Well};

    const ALL: [State; 4] = [Well, Sick, Learner, NotStarted];

    fn cluster(states: &[State]) -> Vec<Member> {
        let number = |at: usize| u64::try_from(at).unwrap();
        let member = |(at, state): (usize, &State)| Member {
            id: EtcdId(number(at)),
            name: format!("cp-{at}").into(),
            version: None,
            started: *state != NotStarted,
            learner: *state == Learner,
            leader: false,
            lag: None,
            sick: (*state == Sick).then(|| Detail::from("no route")),
        };
        states.iter().enumerate().map(member).collect()
    }

    /// All clusters of so many members, each in each of these states.
    fn clusters(size: usize, states: &[State]) -> Vec<Vec<State>> {
        let mut all = vec![Vec::new()];
        for _ in 0..size {
            let longer = |one: &Vec<State>| {
                let one = one.clone();
                states
                    .iter()
                    .map(move |state| [&one[..], &[*state]].concat())
                    .collect::<Vec<_>>()
            };
            all = all.iter().flat_map(longer).collect();
        }
        all
    }

    fn seen(states: &[State]) -> Quorum {
        quorum(&cluster(states), EtcdId(0))
    }

    #[test]
    fn the_table_of_the_rule() {
        let few = |needed, sick: &[&str]| {
            let sick = sick.iter().map(|name| (*name).to_owned()).collect();
            Err(Hold::TooFew { needed, sick })
        };
        let rows: [(&[State], Result<Leave, Hold>); 14] = [
            (&[], Err(Hold::Absent)),
            (&[Well], Ok(Leave::Alone)),
            (&[Sick], Ok(Leave::Alone)),
            (&[Well, Well], Err(Hold::TwoMembers)),
            (&[Well, Learner], Err(Hold::Learner("cp-1".into()))),
            (&[Well, Well, Well], Ok(Leave::Spare(0))),
            (&[Sick, Well, Well], Ok(Leave::Spare(0))),
            (&[Well, Well, Sick], few(2, &["cp-2"])),
            (
                &[Well, Well, NotStarted],
                Err(Hold::NotStarted("cp-2".into())),
            ),
            (&[Well, Well, Well, Well], Ok(Leave::Spare(0))),
            (&[Well, Well, Well, Sick], few(3, &["cp-3"])),
            (&[Well, Well, Well, Well, Well], Ok(Leave::Spare(1))),
            (&[Well, Sick, Well, Well, Well], Ok(Leave::Spare(0))),
            (&[Well, Sick, Sick, Well, Well], few(3, &["cp-1", "cp-2"])),
        ];
        for (states, may) in rows {
            assert_eq!(seen(states).may, may, "{states:?}");
        }
    }

    #[test]
    fn nobody_leaves_fewer_than_a_majority() {
        for size in 0..=7 {
            for states in clusters(size, &ALL) {
                let found = seen(&states);
                let voters = states.iter().filter(|state| **state != Learner).count();
                let remain = states
                    .iter()
                    .skip(1)
                    .filter(|state| **state == Well)
                    .count();
                if found.may.is_ok() && voters > 1 {
                    assert!(remain * 2 > voters, "{states:?}: {found:?}");
                    assert!(!states.contains(&Learner) && !states.contains(&NotStarted));
                }
                if let Ok(Leave::Spare(spare)) = found.may {
                    assert!((remain - spare) * 2 > voters, "{states:?}: {found:?}");
                    assert!((remain - spare - 1) * 2 <= voters, "{states:?}: {found:?}");
                }
            }
        }
    }

    #[test]
    fn a_member_that_heals_never_takes_the_right_to_leave_away() {
        for size in 1..=7 {
            for states in clusters(size, &[Well, Sick]) {
                let before = seen(&states).may.is_ok();
                for at in 0..size {
                    let mut healed = states.clone();
                    healed[at] = Well;
                    assert!(!before || seen(&healed).may.is_ok(), "{states:?}, {at}");
                }
            }
        }
    }

    #[test]
    fn a_majority_that_is_left_may_always_be_left() {
        for size in 3..=7 {
            for states in clusters(size, &[Well, Sick]) {
                let remain = states
                    .iter()
                    .skip(1)
                    .filter(|state| **state == Well)
                    .count();
                assert_eq!(seen(&states).may.is_ok(), remain * 2 > size, "{states:?}");
            }
        }
    }

    #[test]
    fn who_is_not_a_member_may_not_judge() {
        let members = cluster(&[Well, Well, Well]);
        assert_eq!(quorum(&members, EtcdId(9)).may, Err(Hold::Absent));
    }
}
