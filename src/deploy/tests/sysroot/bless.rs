use upgrade::Reason;
use upgrade::deploy::Done;
use upgrade::image::Deployment;

use crate::image::Image;
use crate::world::{World, world};

fn status(world: &World) -> Vec<Deployment> {
    match world.run(&["status"]).verdict {
        Ok(Done::Status { deployments }) => deployments,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_new_system_becomes_the_default_and_the_old_one_is_pinned_behind_it() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    assert_eq!(world.verb("bless", &commit).verdict, Ok(Done::Blessed));
    let found: Vec<_> = status(&world)
        .into_iter()
        .map(|one| (one.digest, one.pinned))
        .collect();
    assert_eq!(found, [(commit, false), (world.installed.clone(), true)]);
    assert!(
        world
            .menu()
            .iter()
            .max()
            .unwrap()
            .1
            .contains("title Test 2 ")
    );
}

#[test]
fn only_the_last_good_system_is_pinned() {
    let world = world();
    let mut blessed = vec![world.installed.clone()];
    for version in 2..=3 {
        let commit = world.fetched(&Image::new(version));
        world.verb("deploy", &commit).deployed();
        world.verb("bless", &commit).verdict.unwrap();
        blessed.insert(0, commit);
    }
    let found: Vec<_> = status(&world)
        .into_iter()
        .map(|one| (one.digest, one.pinned))
        .collect();
    let expected: Vec<_> = blessed.into_iter().zip([false, true, false]).collect();
    assert_eq!(found, expected);
}

#[test]
fn blessing_twice_changes_nothing() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    world.verb("bless", &commit).verdict.unwrap();
    let before = (world.disk(), world.menu());
    world.verb("bless", &commit).verdict.unwrap();
    assert_eq!((world.disk(), world.menu()), before);
}

#[test]
fn what_is_not_deployed_cannot_be_blessed() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    let reason = world.verb("bless", &commit).reason();
    assert_eq!(
        reason,
        Reason::TargetVanished {
            commit: commit.to_string()
        }
    );
}
