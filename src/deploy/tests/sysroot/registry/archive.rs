use std::fs;

use upgrade::Reason;

use crate::image::Image;
use crate::keys::keys;
use crate::run::Answer;
use crate::world::REMOTE;

use super::{Shop, shop, tools};

#[test]
fn images_are_fetched_from_oci_archives_and_folders() {
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
fn archive_with_another_image_is_refused_and_that_image_named() {
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

/// A skopeo in whose second life the archive is another one.
fn swaps_the_archive_in_its_second_life(shop: &Shop, archive: &str, other: &str) {
    let folder = shop.world.path("swapping");
    fs::create_dir_all(&folder).unwrap();
    shop.runs(&format!(
        "case \"$*\" in *image-proxy*)\n[ ! -e {0}/looked ] || cp {other} {archive}\ntouch {0}/looked;; esac\nexec {1}/skopeo \"$@\"",
        folder.display(),
        tools().display()
    ));
}

#[test]
fn archive_swapped_after_its_inspection_is_refused() {
    let shop = shop();
    let pushed = |version, name: &str| {
        let image = Image::new(version);
        let commit = shop.world.publish(&image, Some(&keys().trusted));
        let place = shop.world.path(name).display().to_string();
        let image = shop.push(&commit, &format!("oci-archive:{place}"));
        (place, image)
    };
    let (archive, image) = pushed(2, "os.tar");
    let (other, instead) = pushed(3, "other.tar");
    swaps_the_archive_in_its_second_life(&shop, &archive, &other);
    let mut command = shop.command(&image, &["--signed-by", REMOTE]);
    let reason = Answer::of(&command.output().unwrap()).reason();
    let found = instead.split_once('@').map(|(_, digest)| digest.to_owned());
    assert_eq!(reason, Reason::NoSuchImage { image, found });
    let held = shop.refs();
    assert!(
        !held.iter().any(|name| name.contains("careen/")),
        "{held:?}"
    );
}
