//! The leadership of a real etcd, which moves while the member is still there.
#![allow(clippy::unwrap_used, clippy::panic)]

mod rig;

use rig::{Cluster, Root, answer, shown, within};
use serde_json::json;

fn root(cluster: &Cluster, at: usize) -> Root {
    let root = Root::new();
    root.pods("v1.36.3");
    root.member(cluster, at);
    root
}

#[test]
fn the_leader_yields_and_a_follower_stays() {
    within(async {
        let mut cluster = Cluster::start::<3>();
        let found = cluster.healthy(3).await;
        let leader = found.members.iter().find(|one| one.leader).unwrap();
        let name = leader.name.to_string();
        let at = |name: &str| name.trim_start_matches("cp-").parse::<usize>().unwrap() - 1;

        let follower = root(&cluster, (at(&name) + 1) % 3);
        let (stayed, code) = answer(&follower, &["yield"]);
        let expected = json!({ "answer": "stayed", "because": "follows", "leader": name });
        assert_eq!((stayed, code), (expected, Some(0)));

        let (moved, code) = answer(&root(&cluster, at(&name)), &["yield"]);
        assert_eq!(
            (&moved["answer"], code),
            (&json!("moved"), Some(0)),
            "{moved}"
        );
        assert_eq!(moved["from"], *name);
        let next = moved["to"].as_str().unwrap();
        assert_ne!(next, name);
        for member in 0..3 {
            let seen = cluster.once(member, "led by another", |found| {
                found
                    .members
                    .iter()
                    .any(|one| one.leader && one.name.as_str() == next)
            });
            seen.await;
        }

        // Only the leader is left: it cannot yield, and the program says so and does not fail.
        let next = at(next);
        for other in (0..3).filter(|other| *other != next) {
            cluster.kill(other);
        }
        let root = root(&cluster, next);
        let (stayed, code) = answer(&root, &["yield"]);
        assert_eq!(
            (&stayed["answer"], code),
            (&json!("stayed"), Some(0)),
            "{stayed}"
        );
        let because = stayed["because"].as_str().unwrap();
        assert!(["noneHealthy", "noLeader"].contains(&because), "{stayed}");
        cluster.kill(next);
        let (failed, code) = answer(&root, &["yield"]);
        assert_eq!(
            (&failed["source"], code),
            (&json!("etcd"), Some(0)),
            "{failed}"
        );
    });
}

#[test]
fn the_only_member_keeps_the_leadership() {
    within(async {
        let cluster = Cluster::start::<1>();
        cluster.healthy(1).await;
        let (out, _, code) = shown(&root(&cluster, 0), &["yield"]);
        let says = "Nothing was moved: this member is the only one.\n";
        assert_eq!((out.as_str(), code), (says, Some(0)));
    });
    let root = Root::new();
    root.pods("v1.36.3");
    assert_eq!(answer(&root, &["yield"]).0["because"], "external");
}
