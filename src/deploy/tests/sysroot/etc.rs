use std::fs;

use crate::image::Image;
use crate::world::world;

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
fn an_unchanged_file_may_become_a_folder() {
    let world = world();
    let second = world.fetched(&Image::new(2).with("usr/etc/thing", b"a file"));
    world.verb("deploy", &second).deployed();
    world.verb("bless", &second).verdict.unwrap();
    assert!(world.deployment(&second, 0).join("etc/thing").is_file());
    let third = world.fetched(&Image::new(3).with("usr/etc/thing/part", b"in a folder"));
    world.verb("deploy", &third).deployed();
    let part = world.deployment(&third, 0).join("etc/thing/part");
    assert_eq!(fs::read_to_string(part).unwrap(), "in a folder");
}
