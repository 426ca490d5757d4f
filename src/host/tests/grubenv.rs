//! A damaged environment block, armed or not: GRUB boots the default, and Careen does not write the
//! block.
#![allow(clippy::unwrap_used, clippy::panic)]

mod disk;

use std::fs;

use disk::{Disk, deployment, empty_block};
use host::loader::{self, Aim};
use upgrade::{OneShot, Reason};

type Damage = fn(Vec<u8>) -> Vec<u8>;

/// What a disk, a torn write or another program can do to a block.
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
    armed.resize(host::loader::grub::LENGTH, b'#');
    [armed, empty_block()]
}

#[test]
fn no_aim_writes_a_damaged_block() {
    let all = [deployment('a', 0), deployment('b', 0)];
    let disk = Disk::new(&all);
    let path = disk.places.grubenv();
    for (name, damage) in DAMAGES {
        for damaged in blocks().map(damage) {
            fs::write(&path, &damaged).unwrap();
            assert_eq!(
                loader::one_shot(&disk.places),
                OneShot::Unreadable,
                "{name}"
            );
            for aim in [Aim::Trial(&all[1]), Aim::Default] {
                let error = loader::aim(&disk.places, aim).unwrap_err();
                assert!(error.to_string().contains("grubenv"), "{name}: {error}");
            }
            assert_eq!(fs::read(&path).unwrap(), damaged, "{name}");
        }
    }
}

#[test]
fn a_damaged_block_is_unfit_and_cannot_be_armed() {
    let all = [deployment('a', 0), deployment('b', 0)];
    let disk = Disk::new(&all);
    let kernel = tempfile::tempdir().unwrap();
    for (name, damage) in DAMAGES {
        for damaged in blocks().map(damage) {
            fs::write(disk.places.grubenv(), damaged).unwrap();
            let unfit = loader::fitness(&disk.places, kernel.path());
            assert!(matches!(unfit, Err(Reason::LoaderUnfit { .. })), "{name}");
            let armed = disk.arm(&all[1]);
            assert!(armed.is_err(), "{name}: {armed:?}");
        }
    }
}

/// A disk writes 512 bytes at a time, so a power cut can end a write between two of them.
#[test]
fn a_write_cut_between_its_sectors_is_done_or_not() {
    let all = [deployment('a', 0), deployment('b', 0)];
    let disk = Disk::new(&all);
    let path = disk.places.grubenv();
    for aim in [Aim::Trial(&all[1]), Aim::Default] {
        let before = fs::read(&path).unwrap();
        loader::aim(&disk.places, aim).unwrap();
        let after = fs::read(&path).unwrap();
        for parted in [
            [&after[..512], &before[512..]].concat(),
            [&before[..512], &after[512..]].concat(),
        ] {
            assert!(parted == before || parted == after);
        }
    }
}
