use super::*;

fn verified() -> Record {
    let request = upgrade::RawRequest::default();
    let commit = "a".repeat(64);
    let from = upgrade::Deployment {
        digest: commit.parse().unwrap(),
        serial: 0,
        stateroot: "os".to_owned(),
        bootcsum: commit,
        pinned: false,
        kept: false,
    };
    let target = "ostree:images:os".parse().unwrap();
    let mut up = upgrade::Upgrade::new("u1".parse().unwrap(), request, target, from);
    up.phase = Phase::Verified;
    Record {
        upgrade: Some(up),
        ..Record::default()
    }
}

fn seen() -> Observation {
    let booted = verified().upgrade.unwrap().from;
    Observation {
        machine: upgrade::Machine {
            deployments: Vec::new(),
            architecture: String::new(),
            ..upgrade::Machine::quiet(booted)
        },
        node: upgrade::NodeView::default(),
        turn: upgrade::Turn::quiet(upgrade::Home::Agent, "b007".parse().unwrap(), SinceBoot(0)),
    }
}

/// The Node, with this mark next to its cordon if there is one.
fn node(mark: Option<&str>, cordoned: bool) -> News {
    let annotations = mark.map(|mark| serde_json::json!({ upgrade::names::CORDONED_BY: mark }));
    let node = serde_json::json!({
        "metadata": { "name": "n", "uid": "u", "annotations": annotations },
        "spec": { "unschedulable": cordoned },
    });
    let node: client::Node = serde_json::from_value(node).unwrap();
    News::Node(Box::new(node.into()))
}

#[test]
fn a_cordon_of_others_under_our_mark_shows_that_ours_was_off() {
    let mut link = Link::default();
    let set_by = |manager: &str| {
        let News::Node(mut node) = node(Some("u1"), true) else {
            unreachable!()
        };
        node.cordon_mark_left = manager != "careen-agent";
        News::Node(node)
    };
    link.take(set_by("careen-agent"), SinceBoot(1));
    assert!(!link.is_cordoned_by_others(&verified()));
    link.take(set_by("kubectl"), SinceBoot(2));
    assert!(link.is_cordoned_by_others(&verified()));
    assert!(
        !link.is_cordoned_by_others(&Record::default()),
        "of a former one"
    );
}

#[test]
fn a_cordon_is_missed_whoever_set_it_and_only_once_it_was_seen() {
    let sees = |link: &mut Link, mark, cordoned| {
        link.take(node(mark, cordoned), SinceBoot(1));
        link.is_schedulable()
    };
    let mut link = Link::default();
    assert!(!link.is_schedulable(), "nothing is known yet");
    link.cordoned(&"u1".parse().unwrap());
    assert!(!sees(&mut link, None, false), "the watch is behind");
    assert!(
        !sees(&mut link, Some("other"), false),
        "a former one's mark"
    );
    assert!(!sees(&mut link, Some("u1"), true));
    assert!(sees(&mut link, Some("u1"), false), "kubectl uncordon");
    link.cordoned(&"u1".parse().unwrap());
    assert!(!link.is_schedulable(), "the watch is behind our write");
    assert!(sees(&mut link, Some("u1"), false), "and again");
    assert!(!sees(&mut link, None, true), "somebody else's");
    assert!(
        sees(&mut link, None, false),
        "the person who set it has removed it"
    );
}

/// A kubelet has reported this boot.
fn ready(boot: &str) -> News {
    ready_at(boot, None)
}

/// A kubelet has reported this boot, at this time.
fn ready_at(boot: &str, time: Option<&str>) -> News {
    let ready = serde_json::json!({ "type": "Ready", "status": "True", "lastHeartbeatTime": time });
    let node = serde_json::json!({
        "metadata": { "name": "n", "uid": "u" },
        "status": {
            "nodeInfo": { "bootID": boot, "kubeletVersion": "v1.36.1" },
            "conditions": [ready],
        },
    });
    let node: client::Node = serde_json::from_value(node).unwrap();
    News::Node(Box::new(node.into()))
}

#[test]
fn node_deleted_in_trial_stays_pending_as_if_the_api_is_away() {
    let (mut link, boot) = (Link::default(), seen().turn.boot);
    link.take(News::Reached(None, None), SinceBoot(1_000));
    link.take(ready("b007"), SinceBoot(2_000));
    assert_eq!(link.ready(&boot), Check::Pass);
    assert!(matches!(link.api_in_trial(), Api::Reached { .. }));
    link.take(News::NoNode, SinceBoot(3_000));
    assert_eq!(link.ready(&boot), Check::Pending(GONE.to_owned()));
    assert_eq!(link.api_in_trial(), Api::Away, "as if nobody could say");
    assert!(link.is_reached(), "and so it is told");
    link.take(News::Away("cut".to_owned()), SinceBoot(4_000));
    let away = "the API server is not reached".to_owned();
    assert_eq!(link.ready(&boot), Check::Pending(away));
}

#[test]
fn readiness_from_before_the_kubelet_restart_is_ignored() {
    let (mut link, boot) = (Link::default(), seen().turn.boot);
    link.take(News::Reached(None, None), SinceBoot(1_000));
    let old = || ready_at("b007", Some("2026-11-27T10:00:00Z"));
    link.take(old(), SinceBoot(2_000));
    assert_eq!(link.ready(&boot), Check::Pass);
    link.kubelet_restarted();
    // Another client has changed the Node.
    link.take(old(), SinceBoot(3_000));
    let said = "the kubelet has not reported since its restart";
    assert_eq!(link.ready(&boot), Check::Pending(said.to_owned()));
    let version = link.version(&boot, &verified());
    assert_eq!(version, Check::Pending(said.to_owned()));
    let new = ready_at("b007", Some("2026-11-27T10:00:03Z"));
    link.take(new, SinceBoot(4_000));
    assert_eq!(link.ready(&boot), Check::Pass);
}

#[test]
fn reregistered_node_restarts_its_time_since_reached() {
    let since = |link: &Link| match link.api_in_trial() {
        Api::Reached { since, .. } => Some(since),
        Api::Away => None,
    };
    let mut link = Link::default();
    link.take(News::Reached(None, None), SinceBoot(1_000));
    link.take(ready("b007"), SinceBoot(2_000));
    link.take(ready("b007"), SinceBoot(3_000));
    assert_eq!(since(&link), Some(SinceBoot(2_000)));
    link.take(News::NoNode, SinceBoot(4_000));
    link.take(ready("b007"), SinceBoot(900_000));
    assert_eq!(since(&link), Some(SinceBoot(900_000)));
}

#[test]
fn node_reregistered_after_the_cordon_is_schedulable() {
    let mut link = Link::default();
    link.cordoned(&"u1".parse().unwrap());
    link.take(News::NoNode, SinceBoot(1));
    link.take(node(None, false), SinceBoot(2));
    assert!(link.is_schedulable());
}

#[test]
fn restarted_agent_trusts_the_first_cordon_state_it_sees() {
    let mut link = Link::default();
    link.take(node(None, false), SinceBoot(1));
    assert!(link.is_schedulable());
}

#[test]
fn cordon_is_own_only_with_the_mark_of_the_recorded_upgrade() {
    let mut link = Link::default();
    let mut own = |mark, cordoned| {
        link.take(node(mark, cordoned), SinceBoot(1));
        link.is_cordoned_for(&verified())
    };
    assert!(own(Some("u1"), true));
    assert!(!own(Some("u1"), false), "kubectl uncordon leaves the mark");
    assert!(!own(Some("u0"), true), "a former upgrade's");
    assert!(!own(None, true), "a person's");
    assert!(!link.is_cordoned_for(&Record::default()));
}

#[test]
fn a_mark_is_left_once_its_cordon_was_seen_and_is_off() {
    let mut link = Link::default();
    let mut left = |mark, cordoned| {
        link.take(node(mark, cordoned), SinceBoot(1));
        link.has_left_mark()
    };
    assert!(!left(Some("u1"), true));
    assert!(left(Some("u1"), false), "kubectl uncordon leaves the mark");
    assert!(left(Some("u0"), false), "of whichever upgrade");
    assert!(!left(None, false));
}

#[test]
fn a_mark_is_not_left_while_our_cordon_is_yet_to_be_seen() {
    let mut link = Link::default();
    link.take(node(Some("u0"), false), SinceBoot(1));
    link.cordoned(&"u1".parse().unwrap());
    assert!(!link.has_left_mark(), "the watch is behind our write");
}

#[test]
fn a_label_that_somebody_takes_away_leaves_a_mark() {
    let mut link = Link::default();
    link.take(excluded(Some("u1"), true), SinceBoot(1));
    assert!(!link.has_left_mark());
    link.take(excluded(Some("u1"), false), SinceBoot(2));
    assert!(link.has_left_mark());
}

/// The Node with this label and mark for load balancers.
fn excluded(mark: Option<&str>, label: bool) -> News {
    let annotations = mark.map(|mark| serde_json::json!({ upgrade::names::EXCLUDED_BY: mark }));
    let labels = label.then(|| serde_json::json!({ upgrade::names::EXCLUDED: "true" }));
    let node = serde_json::json!({
        "metadata": { "name": "n", "uid": "u", "annotations": annotations, "labels": labels },
    });
    let node: client::Node = serde_json::from_value(node).unwrap();
    News::Node(Box::new(node.into()))
}

#[test]
fn label_is_own_only_with_the_mark_of_the_recorded_upgrade() {
    let mut link = Link::default();
    let mut own = |mark, label| {
        link.take(excluded(mark, label), SinceBoot(1));
        link.is_excluded_for(&verified())
    };
    assert!(own(Some("u1"), true));
    assert!(!own(Some("u1"), false), "somebody took the label away");
    assert!(!own(Some("u0"), true), "a former upgrade's");
    assert!(!own(None, true), "a person's, or kept by one");
    assert!(!link.is_excluded_for(&Record::default()));
}

#[test]
fn refused_version_hinders_the_deploy_until_it_is_known() {
    let mut link = Link::default();
    link.take(News::Reached(None, None), SinceBoot(1_000));
    link.take(News::Unversioned("403".to_owned()), SinceBoot(1_000));
    let why = link.hindrance(&verified(), &seen()).unwrap();
    assert!(why.to_string().contains("403"), "{why}");
    let version: Version = "v1.35.4".parse().unwrap();
    link.take(News::Version(version), SinceBoot(9_000));
    assert_eq!(link.hindrance(&verified(), &seen()), None);
}

#[test]
fn late_server_version_keeps_the_time_since_reached() {
    let mut link = Link::default();
    let version: Version = "v1.35.4".parse().unwrap();
    link.take(News::Reached(None, None), SinceBoot(1_000));
    link.take(News::Version(version.clone()), SinceBoot(9_000));
    let reached = Api::Reached {
        since: SinceBoot(1_000),
        version: Some(version),
    };
    assert_eq!(link.api, reached);
}
