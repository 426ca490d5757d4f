use upgrade::Reason;

use crate::bless::put_there_by_hand;
use crate::image::{Image, noise};
use crate::refuse::refused;
use crate::world::world;

const MIB: u64 = 1 << 20;

#[test]
fn full_boot_is_reported_by_verify_and_refused_by_deploy() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    let _small = world.small_file_system("boot", 2 * MIB);
    let facts = world.verb("verify", &commit).verified();
    assert!(!facts.boot.fits() && facts.root.fits(), "{facts:?}");
    let deploy = ["deploy", "--commit", commit.as_str()];
    let reason = refused(&world, &deploy, &["/boot", "bytes free", "are needed"]);
    assert!(matches!(reason, Reason::NoRoom { .. }), "{reason}");
}

#[test]
fn a_kernel_that_is_on_boot_already_takes_no_room_there() {
    let world = world();
    let commit = world.fetched(&Image::new(1).with("usr/share/other", b"other"));
    let _small = world.small_file_system("boot", 2 * MIB + MIB * 3 / 4);
    assert!(world.verb("verify", &commit).verified().boot.fits());
    world.verb("deploy", &commit).deployed();
}

#[test]
fn when_boot_is_short_the_kept_system_goes_first() {
    let world = world();
    let second = world.fetched(&Image::new(2));
    world.verb("deploy", &second).deployed();
    world.verb("bless", &second).verdict.unwrap();
    let third = world.fetched(&Image::new(3));
    // Two kernels of half a mebibyte lie there; a third does not fit beside the margin, in place of
    // one it does.
    let _small = world.small_file_system("boot", 3 * MIB + MIB / 4);
    let facts = world.verb("verify", &third).verified();
    assert!(facts.boot.fits(), "{facts:?}");
    world.verb("deploy", &third).deployed();
    assert_eq!(world.order(), [second.as_str(), third.as_str()]);
}

#[test]
fn administrators_pinned_system_is_kept_when_boot_is_short() {
    let world = world();
    let theirs = put_there_by_hand(&world, "node", 2);
    let third = world.fetched(&Image::new(3));
    let _small = world.small_file_system("boot", 3 * MIB + MIB / 4);
    let facts = world.verb("verify", &third).verified();
    assert!(!facts.boot.fits(), "{facts:?}");
    let reason = world.verb("deploy", &third).reason();
    assert!(matches!(reason, Reason::NoRoom { .. }), "{reason}");
    assert_eq!(world.order(), [world.installed.as_str(), &theirs]);
}

#[test]
fn a_root_without_room_for_the_pull_is_named() {
    let world = world();
    let commit = world.publish(
        &Image::new(2).with("usr/share/big", &noise(9, 8_000_000)),
        Some(&crate::keys::keys().trusted),
    );
    let _small = world.small_file_system("", 8 * MIB);
    let reason = world.fetch(&commit).reason();
    assert!(
        matches!(&reason, Reason::NoRoom { place, .. } if place.contains("root")),
        "{reason}"
    );
}

#[test]
fn full_root_is_reported_by_verify_and_refused_by_deploy() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    let _small = world.small_file_system("", 8 * MIB);
    let facts = world.verb("verify", &commit).verified();
    assert!(!facts.root.fits(), "{facts:?}");
    let deploy = ["deploy", "--commit", commit.as_str()];
    let reason = refused(&world, &deploy, &["root", "bytes free", "are needed"]);
    assert!(matches!(reason, Reason::NoRoom { .. }), "{reason}");
}
