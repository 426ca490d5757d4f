//! The operator's hooks and checks.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::super::{Verdict, examine};
use super::node::{Node, write};

/// One of them, with this mode.
fn program(node: &Node, path: &str, mode: u32) {
    let path = node.root().join(path);
    write(&path, "#!/bin/sh\n");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn world_writable_required_check_or_pre_hook_is_bad() {
    for path in ["etc/careen/required.d/net", "usr/lib/careen/pre.d/10-lb"] {
        let node = Node::sound();
        program(&node, path, 0o757);
        node.is_bad("programs", path);
        node.is_bad("programs", "mode 0757");
    }
}

#[test]
fn world_writable_wanted_check_or_post_hook_warns() {
    for path in ["etc/careen/wanted.d/net", "etc/careen/post.d/10-lb"] {
        let node = Node::sound();
        program(&node, path, 0o757);
        let found = node.found("programs");
        assert_eq!(found.verdict, Verdict::Warn, "{found:?}");
        assert!(found.found.contains(path), "{found:?}");
    }
}

#[test]
fn each_untrusted_program_has_a_finding_and_trusted_ones_none() {
    let node = Node::sound();
    program(&node, "etc/careen/required.d/good", 0o755);
    assert_eq!(node.found("programs").verdict, Verdict::Ok);
    program(&node, "etc/careen/required.d/bad", 0o757);
    program(&node, "etc/careen/post.d/bad", 0o757);
    let all = examine(&node.patient()).into_iter();
    let found: Vec<_> = all.filter(|found| found.name == "programs").collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|found| !found.found.contains("/good")));
}

#[test]
fn check_that_is_not_executable_is_found_and_a_hook_is_not() {
    let node = Node::sound();
    program(&node, "etc/careen/pre.d/10-lb", 0o644);
    assert_eq!(node.found("programs").verdict, Verdict::Ok);
    program(&node, "etc/careen/wanted.d/net", 0o644);
    assert_eq!(node.found("programs").verdict, Verdict::Warn);
    program(&node, "etc/careen/required.d/net", 0o644);
    node.is_bad("programs", "required.d/net is not executable (mode 0644)");
}

#[test]
fn backups_beside_programs_and_lists_are_named_as_skipped() {
    let node = Node::sound();
    program(&node, "etc/careen/required.d/net.bak", 0o644);
    write(&node.root().join("etc/careen/snapshot.d/app~"), "/var/x\n");
    let found = node.found("programs");
    assert_eq!(found.verdict, Verdict::Warn, "{found:?}");
    for path in ["required.d/net.bak", "snapshot.d/app~"] {
        assert!(found.found.contains(path), "{found:?}");
    }
}
