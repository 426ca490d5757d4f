//! What a survey finds at an external etcd: its members, at the endpoints that lead to them.
#![allow(clippy::unwrap_used, clippy::panic)]

mod rig;

use control::etcd::Found;
use rig::{Cluster, within};
use upgrade::control_plane::{AlarmKind, Hold, Leave, quorum};

fn healthy(found: &Found) -> usize {
    found.members.iter().filter(|one| one.is_healthy()).count()
}

fn may(found: &Found) -> Result<Leave, Hold> {
    // All of them are on loopback, so any of them is a member of this node.
    quorum(&found.members, found.me.unwrap()).may
}

#[test]
fn external_quorum_counts_members_not_endpoints() {
    within(async {
        let mut cluster = Cluster::start::<3>();
        cluster.healthy(3).await;
        // Etcd as a service of each node, and its own loopback as the only endpoint.
        for endpoints in [&[0][..], &[0, 1]] {
            let well = |found: &Found| healthy(found) == 3 && found.unread.is_empty();
            let found = cluster.external_at(endpoints, "healthy", well).await;
            assert_eq!(may(&found), Ok(Leave::Spare(0)), "{found:#?}");
            let names = found.members.iter().map(|one| one.name.as_str());
            let mut names: Vec<_> = names.collect();
            names.sort_unstable();
            assert_eq!(names, ["cp-1", "cp-2", "cp-3"]);
        }

        cluster.kill(1);
        let two = |found: &Found| healthy(found) == 2;
        let found = cluster.external_at(&[0], "two healthy", two).await;
        assert_eq!(found.members.len(), 3, "{found:#?}");
        match may(&found) {
            Err(Hold::TooFew { needed: 2, sick }) => assert_eq!(sick, ["cp-2"]),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn alarms_are_asked_of_an_endpoint_with_a_leader() {
    within(async {
        let mut cluster = Cluster::start::<3>();
        let members = cluster.healthy(3).await.members;
        let at = |name: &str| ["cp-1", "cp-2", "cp-3"].iter().position(|one| *one == name);
        let places = members.iter().map(|one| at(one.name.as_str()).unwrap());
        let places: Vec<_> = places.collect();
        // The first endpoint, and the first in the list, answers for itself alone.
        cluster.cut_off(places[0]);
        let cut = |found: &Found| {
            let sick = found.members.iter().filter_map(|one| one.sick.as_ref());
            let alone = sick.filter(|why| why.as_str().contains("no leader"));
            alone.count() == 1 && healthy(found) == 2
        };
        let found = cluster.external_at(&places, "two healthy", cut).await;
        assert!(found.unread.is_empty(), "{found:#?}");

        cluster.raise_at(places[1], members[1].id, "NOSPACE").await;
        let alarmed = |found: &Found| !found.alarms.is_empty();
        let found = cluster.external_at(&places, "alarmed", alarmed).await;
        assert_eq!(found.alarms[0].kind, AlarmKind::NoSpace);
        assert!(found.unread.is_empty(), "{found:#?}");
    });
}

/// etcd takes no user from a client certificate at this port, and refuses one that names a user.
#[test]
fn etcd_that_demands_users_has_no_healthy_majority() {
    within(async {
        let cluster = Cluster::start::<1>();
        cluster.healthy(1).await;
        cluster.demand_users().await;
        let none = |found: &Found| healthy(found) == 0;
        let found = cluster.external_once("refused", none).await;
        let why = found.members[0].sick.as_ref().unwrap().as_str();
        assert!(why.contains("CommonName"), "{why}");
    });
}
