use std::fs;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use upgrade::Reason;

use crate::image::Image;
use crate::world::{World, world};

/// The reason, with the deployments and /boot as they were.
fn refused(world: &World, image: &Image) -> String {
    let commit = world.fetched(image);
    let before = world.disk();
    let reason = world.verb("deploy", &commit).reason();
    let notes = format!("ostree/careen/etc-{commit}");
    let after: Vec<_> = world
        .disk()
        .into_iter()
        .filter(|line| !line.starts_with(&notes))
        .collect();
    assert_eq!(after, before);
    match reason {
        Reason::EtcMerge { detail } => detail,
        other => panic!("{other}"),
    }
}

#[test]
fn changed_files_of_etc_go_with_the_new_system() {
    let world = world();
    fs::write(world.etc("hosts"), "changed").unwrap();
    fs::write(world.etc("added"), "added").unwrap();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    let etc = world.deployment(&commit, 0).join("etc");
    assert_eq!(fs::read_to_string(etc.join("hosts")).unwrap(), "changed");
    assert_eq!(fs::read_to_string(etc.join("added")).unwrap(), "added");
    assert!(
        fs::read_to_string(etc.join("os-release"))
            .unwrap()
            .contains("VERSION_ID=2")
    );
}

#[test]
fn a_deployment_is_written_anew_when_etc_has_changed_since() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    fs::write(world.etc("added"), "later").unwrap();
    let again = world.verb("deploy", &commit).deployed();
    assert_eq!(again.serial, 1);
    assert_eq!(
        fs::read_to_string(world.deployment(&commit, 1).join("etc/added")).unwrap(),
        "later"
    );
}

#[test]
fn a_changed_file_that_is_a_folder_in_the_new_image_is_named_before_anything_is_written() {
    let world = world();
    fs::write(world.etc("thing"), "mine").unwrap();
    let detail = refused(&world, &Image::new(2).with("usr/etc/thing/part", b"x"));
    assert!(detail.contains("/etc/thing "), "{detail}");
}

#[test]
fn an_unchanged_file_may_become_a_folder() {
    let world = world();
    let mut image = Image::new(2).with("usr/etc/os-release.d/part", b"x");
    image
        .files
        .push(("usr/etc/hosts.d/part".to_owned(), b"x".to_vec()));
    let commit = world.fetched(&image);
    world.verb("deploy", &commit).deployed();
}

#[test]
fn a_pipe_in_etc_is_named_before_anything_is_written() {
    let world = world();
    mkfifo(&world.etc("pipe"), Mode::S_IRWXU).unwrap();
    let detail = refused(&world, &Image::new(2));
    assert!(detail.contains("/etc/pipe "), "{detail}");
}
