use crate::image::{Image, noise};
use crate::keys::keys;

use super::shop;

#[test]
fn container_plan_reports_changes_and_leaves_the_disk_unchanged() {
    let shop = shop();
    let big = noise(9, 300_000);
    let (image, commit) = shop.offer_signed(&Image::new(2).with("usr/share/big", &big));
    let disk = shop.world.disk();
    let found = shop.plan(&image).planned().unwrap();
    assert_eq!(found.facts.commit, commit);
    assert_eq!(*found.facts.branches, ["os/stable"]);
    assert_eq!(found.facts.info.unwrap().kubernetes.to_string(), "v1.2.0");
    assert!(found.fetch_bytes.is_some_and(|bytes| bytes > 300_000));
    let share = found.packages.iter().find(|one| one.name == "/usr/share");
    assert_eq!(share.unwrap().bytes, 300_000);
    assert_eq!(shop.world.disk(), disk);
}

#[test]
fn a_plan_takes_nothing_from_an_upgrade_to_the_same_image() {
    let shop = shop();
    let (image, commit) = shop.offer_signed(&Image::new(2));
    shop.fetch(&image).fetched();
    let found = shop.plan(&image).planned().unwrap();
    assert_eq!(found.fetch_bytes, Some(0));
    shop.world.verb("verify", &commit).verified();
    shop.world.verb("deploy", &commit).deployed();
    shop.plan(&image).planned().unwrap();
    shop.world.verb("verify", &commit).verified();
}

#[test]
fn unsigned_image_plan_is_refused_and_leaves_the_disk_unchanged() {
    let shop = shop();
    let (image, _) = shop.offer(&Image::new(2), None);
    let disk = shop.world.disk();
    let refused = shop.plan(&image).planned();
    assert_eq!(refused.unwrap_err().code(), "Unsigned");
    assert_eq!(shop.world.disk(), disk);
    let (forged, _) = shop.offer(&Image::new(3), Some(&keys().stranger));
    assert!(shop.plan(&forged).planned().is_err());
    assert_eq!(shop.world.disk(), disk);
}

#[test]
fn plan_finding_another_commit_leaves_no_layers() {
    let shop = shop();
    let (image, _) = shop.offer_signed(&Image::new(2));
    let refs = shop.refs();
    let other = "b".repeat(64);
    let refused = shop.plan_with(&image, &["--commit", &other]).planned();
    assert_eq!(refused.unwrap_err().code(), "NotEncapsulated");
    assert_eq!(shop.refs(), refs);
}
