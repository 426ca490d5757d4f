use upgrade::Reason;

use crate::image::Image;
use crate::keys::keys;

use super::shop;

#[test]
fn a_site_without_a_network_takes_images_from_archives_and_folders() {
    let shop = shop();
    let commit = shop.world.publish(&Image::new(2), Some(&keys().trusted));
    for kind in ["oci-archive:", "oci:"] {
        let place = shop.world.path(kind.trim_end_matches(':'));
        let image = shop.push(&commit, &format!("{kind}{}", place.display()));
        assert!(image.starts_with(&format!("{kind}/")), "{image}");
        let fetched = shop.fetch(&image).fetched().0;
        assert_eq!(fetched, commit);
        shop.world.verb("undo", &commit).verdict.unwrap();
    }
}

#[test]
fn an_archive_with_another_image_than_the_one_asked_for_is_refused_and_the_other_is_named() {
    let shop = shop();
    let commit = shop.world.publish(&Image::new(2), Some(&keys().trusted));
    let place = shop.world.path("os.tar");
    let image = shop.push(&commit, &format!("oci-archive:{}", place.display()));
    let (path, digest) = image.split_once('@').unwrap();
    let other = format!("{path}@sha256:{}", "b".repeat(64));
    let reason = shop.fetch(&other).reason();
    let found = Some(digest.to_owned());
    assert_eq!(
        reason,
        Reason::NoSuchImage {
            image: other,
            found
        }
    );
    std::fs::remove_file(&place).unwrap();
    let reason = shop.fetch(&image).reason();
    let found = None;
    assert_eq!(reason, Reason::NoSuchImage { image, found });
}
