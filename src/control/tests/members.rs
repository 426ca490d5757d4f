//! What a survey finds at real members of etcd, healthy and not.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod rig;

use std::time::{Duration, Instant};

use rig::{Authority, Cluster, within};
use upgrade::control_plane::{AlarmKind, Hold, Leave, quorum};

#[test]
fn a_single_member_says_all_about_itself() {
    within(async {
        let cluster = Cluster::start::<1>();
        let found = cluster.healthy(1).await;
        let member = &found.members[0];
        assert_eq!(
            (member.name.as_str(), member.leader, member.lag),
            ("cp-1", true, Some(0))
        );
        assert_eq!(found.me, Some(member.id));
        assert!(member.version.unwrap().major >= 3);
        assert!(found.db_bytes.unwrap() > 0 && found.quota_bytes.unwrap() >= 2 << 30);
        assert_eq!(found.alarms, []);
        assert_eq!(quorum(&found.members, member.id).may, Ok(Leave::Alone));
    });
}

#[test]
fn of_three_members_two_may_be_left_and_one_may_not() {
    within(async {
        let mut cluster = Cluster::start::<3>();
        let found = cluster.healthy(3).await;
        let me = found.me.unwrap();
        assert_eq!(quorum(&found.members, me).may, Ok(Leave::Spare(0)));
        assert_eq!(found.members.iter().filter(|one| one.leader).count(), 1);

        cluster.kill(2);
        let sick = |found: &control::etcd::Found| {
            let well = found.members.iter().filter(|one| one.is_healthy()).count();
            well == 2
                && found
                    .members
                    .iter()
                    .any(|one| one.leader && one.is_healthy())
        };
        let found = cluster.once(0, "two healthy", sick).await;
        let third = found
            .members
            .iter()
            .find(|one| one.name.as_str() == "cp-3")
            .unwrap();
        let said = third.sick.as_ref().unwrap().as_str();
        assert!(said.contains("refused"), "{said}");
        match quorum(&found.members, me).may {
            Err(Hold::TooFew { needed: 2, sick }) => assert_eq!(sick, ["cp-3"]),
            other => panic!("{other:?}"),
        }

        cluster.kill(1);
        let lost = |found: &control::etcd::Found| found.members.iter().all(|one| !one.is_healthy());
        let found = cluster.once(0, "without a leader", lost).await;
        assert_eq!(found.me, Some(me), "the own member still answers");
        assert!(found.members.iter().all(|one| !one.leader), "{found:#?}");
        let own = found.members.iter().find(|one| one.id == me).unwrap();
        let said = own.sick.as_ref().unwrap().as_str();
        assert!(said.contains("no leader"), "{said}");
    });
}

#[test]
fn a_member_that_hangs_costs_the_limit_and_no_more() {
    within(async {
        let cluster = Cluster::start::<3>();
        cluster.healthy(3).await;
        cluster.freeze(1);
        cluster.freeze(2);
        let client = cluster.client().patient_for(Duration::from_secs(2));
        let begin = Instant::now();
        let found = control::etcd::stacked(&client, &cluster.address(0)).await;
        // The alarms need a quorum, so they come late as well: one limit for each round.
        assert!(
            begin.elapsed() < Duration::from_secs(8),
            "{:?}",
            begin.elapsed()
        );
        let hang = found.members.iter().filter(|one| {
            one.sick
                .as_ref()
                .is_some_and(|why| why.as_str() == "no answer in 2 s")
        });
        assert_eq!(hang.count(), 2, "{found:#?}");
    });
}

#[test]
fn a_learner_is_waited_for_before_and_after_its_start() {
    within(async {
        let mut cluster = Cluster::start::<1>();
        cluster.healthy(1).await;
        cluster.add_learner().await;
        let found = cluster
            .once(0, "two members", |found| found.members.len() == 2)
            .await;
        let me = found.me.unwrap();
        let new = found.members.iter().find(|one| one.id != me).unwrap();
        assert!(
            !new.started && new.learner && new.name.is_empty(),
            "{new:?}"
        );
        assert!(matches!(
            quorum(&found.members, me).may,
            Err(Hold::Learner(_))
        ));

        cluster.start_last();
        let started = |found: &control::etcd::Found| {
            found
                .members
                .iter()
                .all(|one| one.started && one.sick.is_none())
        };
        let found = cluster.once(0, "started", started).await;
        let new = found.members.iter().find(|one| one.id != me).unwrap();
        assert!(new.learner && !new.is_healthy(), "{new:?}");
        let may = quorum(&found.members, me).may;
        assert_eq!(may, Err(Hold::Learner("cp-2".into())));
    });
}

#[test]
fn an_alarm_is_found_and_makes_its_member_sick() {
    within(async {
        let cluster = Cluster::start::<1>();
        let me = cluster.healthy(1).await.me.unwrap();
        cluster.raise(me, "NOSPACE").await;
        let found = cluster
            .once(0, "alarmed", |found| !found.alarms.is_empty())
            .await;
        assert_eq!(found.alarms[0].kind, AlarmKind::NoSpace);
        assert_eq!(found.alarms[0].member, me);
        assert!(!found.members[0].is_healthy(), "{found:#?}");
    });
}

#[test]
fn a_stranger_is_told_nothing_and_says_why() {
    within(async {
        let cluster = Cluster::start::<1>();
        cluster.healthy(1).await;
        let other = Authority::new();
        let pair = other.sign("stranger");
        let address = cluster.address(0);
        let new = control::etcd::Client::new;
        let client = new(&cluster.authority.certificate, &pair.certificate, &pair.key).unwrap();
        let found = control::etcd::stacked(&client, &address).await;
        assert!(
            found.members.is_empty() && found.unread.len() == 1,
            "{found:#?}"
        );
        let own = cluster.authority.sign("client");
        let client = new(&other.certificate, &own.certificate, &own.key).unwrap();
        let found = control::etcd::stacked(&client, &address).await;
        assert!(found.unread[0].contains("certificate"), "{found:#?}");
    });
}

#[test]
fn an_external_etcd_is_asked_for_health_and_alarms() {
    within(async {
        let mut cluster = Cluster::start::<3>();
        let ids: Vec<_> = cluster.healthy(3).await.members;
        let ids: Vec<_> = ids.iter().map(|one| one.id).collect();
        let well = |found: &control::etcd::Found| found.members.iter().all(|one| one.is_healthy());
        let found = cluster.external_once("healthy", well).await;
        assert!(found.alarms.is_empty() && found.db_bytes.is_none());
        let me = found.me.expect("loopback is on this node");
        assert_eq!(quorum(&found.members, me).may, Ok(Leave::Spare(0)));

        cluster.raise(ids[1], "NOSPACE").await;
        cluster.kill(0);
        // The first member may have been the leader. The others answer for alarms once they have
        // elected one.
        let listed = |found: &control::etcd::Found| !found.alarms.is_empty();
        let found = cluster.external_once("alarmed", listed).await;
        let mut members = found.members.iter();
        let first = members.find(|one| one.name.as_str() == "cp-1").unwrap();
        assert!(!first.is_healthy() && first.version.is_none(), "{found:#?}");
        assert_eq!(found.alarms.len(), 1, "{found:#?}");
        assert_eq!(found.alarms[0].member, ids[1]);
    });
}
