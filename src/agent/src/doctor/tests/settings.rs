//! The policy file and the record.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use host::snapshot;
use upgrade::{Phase, Reason, Record};

use super::super::{Verdict, examine};
use super::disk::deployment;
use super::node::{Node, write};

#[test]
fn a_policy_that_does_not_parse_is_bad_by_line() {
    let node = Node::sound();
    node.policy("trials = 2\nspeed = 9\n");
    node.is_bad("policy", "line 2");
    let found = node.found("policy").found;
    assert!(!found.contains("ask again"), "nobody has asked: {found}");
}

#[test]
fn a_policy_that_others_may_write_is_bad() {
    let node = Node::sound();
    node.policy("trials = 2\n");
    fs::set_permissions(node.patient().policy, fs::Permissions::from_mode(0o666)).unwrap();
    node.is_bad("policy", "666");
    assert!(node.found("policy").fix.starts_with("chmod go-w /"));
}

#[test]
fn all_that_others_may_write_of_the_policy_is_named() {
    let node = Node::sound();
    node.policy("trials = 2\n");
    let remote = node.root().join("etc/ostree/remotes.d/site.conf");
    for file in [&node.patient().policy, &remote] {
        fs::set_permissions(file, fs::Permissions::from_mode(0o664)).unwrap();
    }
    let found = examine(&node.patient()).into_iter();
    let found: Vec<_> = found.filter(|found| found.name == "policy").collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found.iter().all(|found| found.verdict == Verdict::Bad),
        "{found:?}"
    );
}

#[test]
fn a_policy_that_keeps_the_node_out_is_bad_and_says_why() {
    let node = Node::sound();
    node.policy("opt-out = \"the database's last node\"\n");
    node.is_bad("opt-out", "takes no upgrade: the database's last node");
}

#[test]
fn local_changes_are_bad_unless_the_policy_drops_them() {
    let node = Node::sound();
    let is_there = || {
        let all = examine(&node.patient());
        all.iter().any(|finding| finding.name == "local-changes")
    };
    assert!(!is_there());
    let booted = node.patient().places.deployment(&deployment('a', 0));
    let mut origin = booted.into_os_string();
    origin.push(".origin");
    let text = fs::read_to_string(&origin).unwrap_or_default();
    fs::write(&origin, text + "\n[packages]\nrequested=strace;\n").unwrap();
    node.is_bad("local-changes", "strace");
    node.policy("local-changes = \"drop\"\n");
    assert_eq!(node.found("local-changes").verdict, Verdict::Warn);
}

#[test]
fn owed_kubelet_state_is_bad_and_the_finding_says_why() {
    let node = Node::sound();
    assert_eq!(node.found("kubelet-state").verdict, Verdict::Ok);
    let (places, id) = (node.patient().places, "u1".parse().unwrap());
    snapshot::save(&places, &id).unwrap();
    let owed = snapshot::Owed {
        why: "the disk was full".to_owned(),
        to: None,
    };
    snapshot::owe(&places, &id, &owed).unwrap();
    node.is_bad("kubelet-state", "the disk was full");
}

#[test]
fn a_damaged_record_is_bad() {
    let node = Node::sound();
    write(&node.disk.places.state().join("record.a"), "torn");
    node.is_bad("record", "no copy is intact");
}

#[test]
fn a_halted_upgrade_is_bad_and_says_why() {
    let node = Node::sound();
    let target = "ostree:site:os".parse().unwrap();
    let id = "u1".parse().unwrap();
    let mut up = upgrade::Upgrade::new(
        id,
        upgrade::RawRequest::default(),
        target,
        deployment('a', 0),
    );
    let booted = "cccc".to_owned();
    up.phase = Phase::Halted {
        reason: Reason::UnknownSystem { booted },
    };
    node.record(&Record {
        generation: 1,
        upgrade: Some(up),
        ..Record::default()
    });
    node.is_bad("record", "cccc");
}
