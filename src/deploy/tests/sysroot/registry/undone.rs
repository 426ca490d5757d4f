use upgrade::deploy::Done;

use crate::image::Image;

use super::shop;

fn is_of_containers(name: &str) -> bool {
    name.starts_with("ostree/container")
}

#[test]
fn undo_leaves_the_disk_as_it_was() {
    let shop = shop();
    let before = shop.world.disk();
    let (image, commit) = shop.offer_signed(&Image::new(2));
    shop.fetch(&image).fetched();
    assert!(shop.refs().iter().any(|name| is_of_containers(name)));
    shop.world.verb("deploy", &commit).deployed();
    assert_eq!(shop.world.verb("undo", &commit).verdict, Ok(Done::Undone));
    assert_eq!(shop.world.disk(), before);
}

#[test]
fn undo_without_a_commit_removes_layers_of_an_undeployed_image() {
    let shop = shop();
    let before = shop.world.disk();
    let (image, _) = shop.offer_signed(&Image::new(2));
    shop.fetch(&image).fetched();
    assert_eq!(shop.world.run(&["undo"]).verdict, Ok(Done::Undone));
    assert_eq!(shop.world.disk(), before);
}

#[test]
fn clean_leaves_the_layers_of_what_is_deployed_and_no_others() {
    let shop = shop();
    let (image, commit) = shop.offer_signed(&Image::new(2));
    shop.fetch(&image).fetched();
    shop.world.verb("deploy", &commit).deployed();
    shop.world.verb("bless", &commit).verdict.unwrap();
    let deployed = shop.refs();
    let (other, _) = shop.offer_signed(&Image::new(3));
    shop.fetch(&other).fetched();
    assert!(shop.refs().len() > deployed.len());
    shop.world.run(&["clean"]).verdict.unwrap();
    let left = shop
        .refs()
        .into_iter()
        .filter(|name| is_of_containers(name));
    let wanted = deployed.into_iter().filter(|name| is_of_containers(name));
    let sorted = |names: Vec<String>| {
        let mut names = names;
        names.sort();
        names
    };
    assert_eq!(sorted(left.collect()), sorted(wanted.collect()));
}

#[test]
fn images_that_another_tool_has_brought_stay() {
    let shop = shop();
    let other = ["refs", "--create=ostree/container/baseimage/other/os"];
    let local = shop.world.local();
    shop.world.ostree(
        &[
            &[local.as_str()],
            &other[..],
            &[shop.world.installed.as_str()],
        ]
        .concat(),
    );
    shop.world.run(&["clean"]).verdict.unwrap();
    assert!(
        shop.refs()
            .contains(&"ostree/container/baseimage/other/os".to_owned())
    );
}
