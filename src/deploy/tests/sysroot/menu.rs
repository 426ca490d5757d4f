//! The boot menu as the real careen-grub writes it, when libostree calls it in the swap.

use std::fs;
use std::os::unix::fs::symlink;

use host::loader::grub::Grubenv;
use host::loader::{self, Aim};
use host::{Error, Places};
use upgrade::{Deployment, Reason};

use crate::generator::generator;
use crate::image::Image;
use crate::world::{World, world};

fn with_grub() -> World {
    let mut world = world();
    world.ostree(&[
        &world.local(),
        "config",
        "set",
        "sysroot.bootloader",
        "grub2",
    ]);
    fs::create_dir_all(world.root().join("boot/grub")).unwrap();
    world.generator = Some(generator().to_owned());
    world
}

/// The same with what a one-shot needs besides: the way to the menu, and an empty environment
/// block.
pub fn with_one_shot() -> World {
    let world = with_grub();
    let grub = world.root().join("boot/grub");
    symlink("../loader/grub.cfg", grub.join("grub.cfg")).unwrap();
    let mut block = b"# GRUB Environment Block\n".to_vec();
    block.resize(host::loader::grub::LENGTH, b'#');
    fs::write(grub.join("grubenv"), block).unwrap();
    world
}

/// Arms the deployment. The position in the menu that GRUB finds then.
pub fn armed(world: &World, deployment: &Deployment) -> Result<usize, Error> {
    let places = Places::physical(&world.root());
    loader::aim(&places, Aim::Trial(deployment))?;
    let env = Grubenv::parse(&fs::read(places.grubenv()).unwrap()).unwrap();
    Ok(env.next_entry().unwrap().parse().unwrap())
}

pub fn is_unfit(answer: &Result<usize, Error>) -> bool {
    matches!(answer, Err(Error::Reason(Reason::LoaderUnfit { .. })))
}

fn titles(world: &World) -> Vec<String> {
    let menu = fs::read_to_string(world.root().join("boot/loader/grub.cfg")).unwrap();
    let entries = menu
        .lines()
        .filter_map(|line| line.trim().strip_prefix("menuentry "));
    entries
        .map(|entry| {
            entry
                .chars()
                .find(char::is_ascii_digit)
                .map_or("reboot".to_owned(), String::from)
        })
        .collect()
}

#[test]
fn new_system_becomes_the_first_menu_entry_only_when_blessed() {
    let world = with_grub();
    let commit = world.fetched(&Image::new(2));
    world.verb("deploy", &commit).deployed();
    assert_eq!(titles(&world)[..2], ["1", "2"]);
    world.verb("bless", &commit).verdict.unwrap();
    assert_eq!(titles(&world)[..2], ["2", "1"]);
}
