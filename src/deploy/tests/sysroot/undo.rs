use upgrade::deploy::Done;

use crate::image::Image;
use crate::world::world;

#[test]
fn undo_leaves_the_disk_as_it_was() {
    let world = world();
    let before = (world.disk(), world.order());
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    assert_eq!(world.verb("undo", &commit).verdict, Ok(Done::Undone));
    assert_eq!((world.disk(), world.order()), before);
}

#[test]
fn undo_takes_back_a_fetch_alone() {
    let world = world();
    let before = world.disk();
    let commit = world.fetched(&Image::new(2));
    world.verb("undo", &commit).verdict.unwrap();
    assert_eq!(world.disk(), before);
}

#[test]
fn undoing_twice_changes_nothing() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.verb("undo", &commit).verdict.unwrap();
    let before = world.disk();
    world.verb("undo", &commit).verdict.unwrap();
    assert_eq!(world.disk(), before);
}

#[test]
fn undo_leaves_the_default_alone_whatever_it_is_asked() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    world.verb("bless", &commit).verdict.unwrap();
    world.verb("undo", &commit).verdict.unwrap();
    assert_eq!(world.order(), [commit.as_str(), world.installed.as_str()]);
    world.verb("undo", &world.installed).verdict.unwrap();
    assert_eq!(world.order(), [commit.as_str(), world.installed.as_str()]);
}

#[test]
fn undo_leaves_what_another_upgrade_has_fetched() {
    let world = world();
    let first = world.fetched(&Image::new(2));
    let second = world.fetched(&Image::new(3));
    world.verb("undo", &first).verdict.unwrap();
    world.verb("verify", &second).verified();
}
