use upgrade::Reason;

use crate::image::Image;
use crate::keys::keys;
use crate::world::{BRANCH, REMOTE, World, world};

/// The reason, and nothing but the answer has changed.
fn refused(world: &World, arguments: &[&str]) -> Reason {
    let before = world.disk();
    let reason = world.run(arguments).reason();
    assert_eq!(
        world
            .disk()
            .iter()
            .filter(|line| !before.contains(line) && !in_repo(line))
            .count(),
        0
    );
    let refs = world.ostree(&[&world.local(), "refs"]);
    assert!(
        !refs.contains("careen/target"),
        "a refused image is held: {refs}"
    );
    reason
}

/// Objects of a pull that failed half way lie there until the next one or a clean-up.
fn in_repo(line: &str) -> bool {
    line.starts_with("ostree/repo/objects/") || line.starts_with("ostree/repo/state/")
}

fn fetch<'a>(remote: &'a str, branch: &'a str) -> Vec<&'a str> {
    vec!["fetch", "--remote", remote, "--ref", branch]
}

#[test]
fn a_remote_that_the_node_does_not_know_is_named() {
    let reason = refused(&world(), &fetch("nowhere", BRANCH));
    assert_eq!(
        reason,
        Reason::UnknownRemote {
            remote: "nowhere".to_owned()
        }
    );
}

#[test]
fn a_ref_that_the_remote_does_not_have_is_named() {
    let reason = refused(&world(), &fetch(REMOTE, "os/none"));
    assert_eq!(
        reason,
        Reason::NoSuchRef {
            remote: REMOTE.to_owned(),
            reference: "os/none".to_owned()
        }
    );
}

#[test]
fn a_ref_that_is_not_in_the_remotes_summary_is_named() {
    let world = world();
    world.ostree(&[
        &format!("--repo={}", world.path("repo").display()),
        "summary",
        "-u",
    ]);
    let reason = refused(&world, &fetch(REMOTE, "os/none"));
    assert_eq!(
        reason,
        Reason::NoSuchRef {
            remote: REMOTE.to_owned(),
            reference: "os/none".to_owned()
        }
    );
}

#[test]
fn a_commit_that_the_remote_does_not_have_is_named() {
    let commit = "ab".repeat(32);
    let reason = refused(
        &world(),
        &[&fetch(REMOTE, BRANCH)[..], &["--commit", &commit]].concat(),
    );
    assert_eq!(
        reason,
        Reason::NoSuchCommit {
            remote: REMOTE.to_owned(),
            commit
        }
    );
}

#[test]
fn a_commit_of_another_branch_is_not_taken_for_this_one() {
    let world = world();
    let commit = world.publish_on("os/other", &Image::new(2), Some(&keys().trusted));
    let reason = refused(
        &world,
        &[&fetch(REMOTE, BRANCH)[..], &["--commit", commit.as_str()]].concat(),
    );
    assert!(
        matches!(&reason, Reason::NoSuchCommit { commit, .. } if commit.contains(BRANCH)),
        "{reason}"
    );
}

#[test]
fn a_remote_that_does_not_answer_is_away() {
    let world = world();
    world.server.go_away();
    for arguments in [
        fetch(REMOTE, BRANCH),
        [&fetch(REMOTE, BRANCH)[..], &["--commit", &"ab".repeat(32)]].concat(),
    ] {
        let reason = refused(&world, &arguments);
        assert!(
            matches!(&reason, Reason::RemoteAway { remote, .. } if remote == REMOTE),
            "{reason}"
        );
    }
}

#[test]
fn a_commit_without_a_signature_is_refused() {
    let world = world();
    let commit = world.publish(&Image::new(2), None);
    for pinned in [false, true] {
        let pin = ["--commit", commit.as_str()];
        let pin = if pinned { &pin[..] } else { &[] };
        let reason = refused(&world, &[&fetch(REMOTE, BRANCH)[..], pin].concat());
        assert!(matches!(reason, Reason::Unsigned { .. }), "{reason}");
    }
}

#[test]
fn a_commit_signed_by_a_stranger_is_refused() {
    let world = world();
    let commit = world.publish(&Image::new(2), Some(&keys().stranger));
    let reason = refused(
        &world,
        &[&fetch(REMOTE, BRANCH)[..], &["--commit", commit.as_str()]].concat(),
    );
    assert!(matches!(reason, Reason::WrongSignature { .. }), "{reason}");
}

#[test]
fn an_unsigned_commit_that_lies_here_already_is_refused_too() {
    let world = world();
    let commit = world.publish(&Image::new(2), None);
    world.ostree(&[
        &world.local(),
        "pull-local",
        world.path("repo").to_str().unwrap(),
        commit.as_str(),
    ]);
    let reason = refused(
        &world,
        &[&fetch(REMOTE, BRANCH)[..], &["--commit", commit.as_str()]].concat(),
    );
    assert!(matches!(reason, Reason::Unsigned { .. }), "{reason}");
}

#[test]
fn a_remote_without_verification_is_refused_unless_that_is_allowed() {
    let world = world();
    world.add_remote("loose", &["--no-gpg-verify"]);
    let commit = world.publish(&Image::new(2), None);
    let reason = refused(&world, &fetch("loose", BRANCH));
    assert_eq!(
        reason,
        Reason::VerificationOff {
            remote: "loose".to_owned()
        }
    );
    let (fetched, _) = world
        .run(&[&fetch("loose", BRANCH)[..], &["--unsigned"]].concat())
        .fetched();
    assert_eq!(fetched, commit);
}

#[test]
fn allowing_unsigned_images_does_not_switch_off_a_remotes_own_verification() {
    let world = world();
    world.publish(&Image::new(2), None);
    let reason = refused(
        &world,
        &[&fetch(REMOTE, BRANCH)[..], &["--unsigned"]].concat(),
    );
    assert!(matches!(reason, Reason::Unsigned { .. }), "{reason}");
}

#[test]
fn wrong_usage_is_told_by_its_own_exit_code() {
    let world = world();
    for arguments in [&["fetch"][..], &["verify", "--commit", "abc"], &["sail"]] {
        assert_eq!(
            world.command(arguments).output().unwrap().status.code(),
            Some(2),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_cap_that_the_remotes_own_proxy_would_get_around_is_refused() {
    let world = world();
    let proxy = format!("--set=proxy=http://127.0.0.1:{}", world.server.port);
    world.add_remote(
        "far",
        &[&proxy, &format!("--gpg-import={}", keys().ring.display())],
    );
    let reason = refused(
        &world,
        &[&fetch("far", BRANCH)[..], &["--bandwidth", "100000"]].concat(),
    );
    assert!(
        matches!(&reason, Reason::DeployFailed { detail, .. } if detail.contains("proxy")),
        "{reason}"
    );
}
