//! Which loader a machine has; and each loader boots an entry once and forgets it.
#![allow(clippy::unwrap_used, clippy::panic)]

mod disk;

use std::fs;

use disk::{Disk, deployment, link};
use host::loader::{self, Aim, Loader};
use upgrade::OneShot;

const STOCK: &str = include_str!("../src/loader/grub/stock-grub.cfg");

/// A disk with a menu for this loader, and its second deployment.
fn disk(loader: Loader) -> (Disk, upgrade::Deployment) {
    let (old, new) = (deployment('a', 0), deployment('b', 0));
    let disk = Disk::new(&[old.clone(), new.clone()]);
    match loader {
        Loader::CareenGrub => {}
        Loader::StockGrub => {
            let trial = format!("ostree={} careen.trial=1", link(&new));
            let menu = STOCK
                .replace(
                    "ostree=/ostree/boot.1/debian/aa/0",
                    &format!("ostree={}", link(&old)),
                )
                .replace("ostree=/ostree/boot.1/debian/bb/0", &trial);
            fs::write(disk.places.boot.join("loader.1/grub.cfg"), menu).unwrap();
        }
    }
    (disk, new)
}

#[test]
fn each_loader_is_told_by_its_menu_and_forgets_what_it_boots() {
    for loader in [Loader::CareenGrub, Loader::StockGrub] {
        let (disk, new) = disk(loader);
        assert_eq!(Loader::of(&disk.places), loader);
        assert_eq!(disk.arm(&new).unwrap(), 1, "{loader:?}");
        assert_eq!(loader::one_shot(&disk.places), OneShot::Set, "{loader:?}");
        loader::aim(&disk.places, Aim::Default).unwrap();
        assert_eq!(loader::one_shot(&disk.places), OneShot::Clear, "{loader:?}");
    }
}

#[test]
fn without_a_menu_the_next_one_is_of_careen_grub() {
    let (disk, new) = disk(Loader::StockGrub);
    fs::remove_file(disk.places.boot.join("grub/grub.cfg")).unwrap();
    assert_eq!(Loader::of(&disk.places), Loader::CareenGrub);
    let refused = disk.arm(&new).unwrap_err().to_string();
    assert!(refused.contains("grub.cfg"), "{refused}");
}

#[test]
fn the_next_menu_is_of_the_generator_that_libostree_runs() {
    let (disk, _) = disk(Loader::CareenGrub);
    let next = |ours| Loader::of_the_next_menu(&disk.places, ours);
    assert_eq!(next(true), Some(Loader::CareenGrub));
    assert_eq!(next(false), Some(Loader::StockGrub));
    fs::remove_file(disk.places.boot.join("grub/grub.cfg")).unwrap();
    assert_eq!(next(false), None, "GRUB is not here");
}
