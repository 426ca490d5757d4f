//! A damaged environment block, armed or not: GRUB boots the default with it, and nobody of ours writes over it.
#![allow(clippy::unwrap_used, clippy::panic)]

mod disk;

use std::fs;

use disk::{Disk, deployment, empty_block};
use host::boot::loader_fitness;
use host::{boot, grubenv};
use upgrade::{OneShot, Reason};

type Damage = fn(Vec<u8>) -> Vec<u8>;

/// What a disk, a torn write or another program can make of a block.
const DAMAGES: [(&str, Damage); 5] = [
    ("empty", |_| Vec::new()),
    ("cut off", |block| block[..512].to_vec()),
    ("without its beginning", |block| {
        [vec![0; 512], block[512..].to_vec()].concat()
    }),
    ("with garbage in its filling", |block| {
        [block[..512].to_vec(), vec![b'x'; 512]].concat()
    }),
    ("too long", |block| [block, vec![b'#'; 512]].concat()),
];

/// A block that boots the second entry once, and one that does not.
fn blocks() -> [Vec<u8>; 2] {
    let mut armed = b"# GRUB Environment Block\nnext_entry=1\n".to_vec();
    armed.resize(grubenv::LENGTH, b'#');
    [armed, empty_block()]
}

#[test]
fn a_damaged_block_is_neither_armed_nor_disarmed_nor_written_over() {
    let all = [deployment('a', 0), deployment('b', 0)];
    let disk = Disk::new(&all);
    let path = disk.places.grubenv();
    for (name, damage) in DAMAGES {
        for damaged in blocks().map(damage) {
            fs::write(&path, &damaged).unwrap();
            assert_eq!(grubenv::one_shot(&path), OneShot::Unreadable, "{name}");
            for position in [Some(1), None] {
                let error = grubenv::write_next_entry(&path, position).unwrap_err();
                assert!(error.to_string().contains("grubenv"), "{name}: {error}");
            }
            assert_eq!(fs::read(&path).unwrap(), damaged, "{name}");
        }
    }
}

#[test]
fn with_a_damaged_block_no_upgrade_is_begun_and_none_is_armed() {
    let all = [deployment('a', 0), deployment('b', 0)];
    let disk = Disk::new(&all);
    let kernel = tempfile::tempdir().unwrap();
    for (name, damage) in DAMAGES {
        for damaged in blocks().map(damage) {
            fs::write(disk.places.grubenv(), damaged).unwrap();
            let unfit = loader_fitness(&disk.places, kernel.path());
            assert!(matches!(unfit, Err(Reason::LoaderUnfit { .. })), "{name}");
            let position = boot::menu::position(&disk.places, &all[1]);
            assert!(position.is_err(), "{name}: {position:?}");
        }
    }
}

/// 512 bytes are written at a time, so the power can part a write between them.
#[test]
fn a_write_that_the_power_parts_between_its_sectors_has_come_about_or_not() {
    let disk = Disk::new(&[deployment('a', 0), deployment('b', 0)]);
    let path = disk.places.grubenv();
    for position in [Some(1), None] {
        let before = fs::read(&path).unwrap();
        grubenv::write_next_entry(&path, position).unwrap();
        let after = fs::read(&path).unwrap();
        for parted in [
            [&after[..512], &before[512..]].concat(),
            [&before[..512], &after[512..]].concat(),
        ] {
            assert!(parted == before || parted == after);
        }
    }
}
