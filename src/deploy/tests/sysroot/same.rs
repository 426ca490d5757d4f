//! An image with the very kernel, version and title of the running one: only the commit tells them
//! apart.

use host::{Places, boot};

use crate::image::Image;
use crate::menu::{armed, with_one_shot};

#[test]
fn image_with_the_same_kernel_is_tried_blessed_and_kept_apart() {
    let world = with_one_shot();
    let places = Places::physical(&world.root());
    let commit = world.fetched(&Image::new(1).with("usr/share/other", b"other"));
    let made = world.verb("deploy", &commit).deployed();
    let old = &boot::default_first(&places).unwrap()[0];
    assert_eq!(
        (&old.digest, &old.bootcsum),
        (&world.installed, &made.bootcsum)
    );
    assert!(!old.same(&made), "both boot the same kernel");
    assert_eq!(armed(&world, &made).unwrap(), 1);
    world.verb("bless", &commit).verdict.unwrap();
    assert_eq!(world.order(), [commit.as_str(), world.installed.as_str()]);
    world.run(&["clean"]).verdict.unwrap();
    assert_eq!(world.order().len(), 2, "the old one is what falls back");
}
