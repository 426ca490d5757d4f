//! Names of remotes, refs and commits that lead nowhere.

use upgrade::Reason;

use super::{fetch, pinned, refused};
use crate::image::Image;
use crate::keys::keys;
use crate::trick::Trick;
use crate::world::{BRANCH, REMOTE, world};

#[test]
fn a_name_that_is_none_is_named_with_the_form_that_is_accepted() {
    let world = world();
    for (remote, branch) in [
        (REMOTE, "os//stable"),
        (REMOTE, "os/sta ble"),
        (REMOTE, "../os"),
        (REMOTE, ""),
        ("im/ages", BRANCH),
    ] {
        let image = format!("ostree:{remote}:{branch}");
        let words = ["careen.dev/image", &image, "ostree:<remote>:<ref>"];
        let reason = refused(&world, &fetch(remote, branch), &words);
        assert!(matches!(reason, Reason::BadRequest { .. }), "{reason}");
    }
}

#[test]
fn a_commit_does_not_hide_in_the_name_of_a_branch() {
    let branch = format!("{BRANCH}@{}", "ab".repeat(32));
    let reason = refused(&world(), &fetch(REMOTE, &branch), &[&branch]);
    assert!(matches!(reason, Reason::BadRequest { .. }), "{reason}");
}

#[test]
fn a_remote_that_the_node_does_not_know_is_named() {
    let words = ["remote", "nowhere", "/etc/ostree/remotes.d"];
    let reason = refused(&world(), &fetch("nowhere", BRANCH), &words);
    let remote = "nowhere".to_owned();
    assert_eq!(reason, Reason::UnknownRemote { remote });
}

#[test]
fn a_ref_that_the_remote_does_not_have_is_named() {
    let words = ["remote", REMOTE, "ref", "os/none"];
    let reason = refused(&world(), &fetch(REMOTE, "os/none"), &words);
    assert!(matches!(reason, Reason::NoSuchRef { .. }), "{reason}");
}

#[test]
fn a_ref_that_is_not_in_the_remotes_summary_is_named() {
    let world = world();
    world.ostree(&[
        &format!("--repo={}", world.path("repo").display()),
        "summary",
        "-u",
    ]);
    let words = ["remote", REMOTE, "ref", "os/none"];
    let reason = refused(&world, &fetch(REMOTE, "os/none"), &words);
    assert!(matches!(reason, Reason::NoSuchRef { .. }), "{reason}");
}

#[test]
fn ref_listed_in_the_summary_but_forbidden_is_not_missing() {
    let world = world();
    world.publish(&Image::new(2), Some(&keys().trusted));
    let repo = format!("--repo={}", world.path("repo").display());
    world.ostree(&[&repo, "summary", "-u"]);
    world.server.plays(Trick::Forbidden, ".commit");
    let words = ["remote", REMOTE, "cannot fetch"];
    let reason = refused(&world, &fetch(REMOTE, BRANCH), &words);
    assert!(matches!(reason, Reason::RemoteAway { .. }), "{reason}");
}

#[test]
fn a_commit_that_the_remote_does_not_have_is_named() {
    let commit = "ab".repeat(32);
    let words = ["remote", REMOTE, "commit", &commit];
    let reason = refused(&world(), &pinned(&commit), &words);
    assert!(matches!(reason, Reason::NoSuchCommit { .. }), "{reason}");
}

#[test]
fn a_commit_of_another_branch_is_not_taken_for_this_one() {
    let world = world();
    let commit = world.publish_on("os/other", &Image::new(2), Some(&keys().trusted));
    let words = [REMOTE, "commit", commit.as_str(), "ref", BRANCH];
    let reason = refused(&world, &pinned(commit.as_str()), &words);
    assert!(matches!(reason, Reason::NoSuchCommit { .. }), "{reason}");
}

#[test]
fn a_remote_that_does_not_answer_is_away() {
    let world = world();
    world.server.go_away();
    for arguments in [fetch(REMOTE, BRANCH), pinned(&"ab".repeat(32))] {
        let reason = refused(&world, &arguments, &["remote", REMOTE, "cannot fetch"]);
        assert!(matches!(reason, Reason::RemoteAway { .. }), "{reason}");
    }
}
