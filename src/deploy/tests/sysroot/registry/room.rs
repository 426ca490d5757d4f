use upgrade::Reason;

use crate::image::{Image, noise};

use super::{Shop, shop};

const MIB: u64 = 1 << 20;

fn has_no_room(shop: &Shop, image: &str) -> Vec<String> {
    let _small = shop.world.small_file_system("", 8 * MIB);
    let answer = shop.fetch(image);
    let said = answer.progress.iter().map(|one| one.doing.clone());
    let said = said.collect();
    let reason = answer.reason();
    assert!(
        matches!(&reason, Reason::NoRoom { place, .. } if place.contains("root")),
        "{reason}"
    );
    said
}

#[test]
fn image_larger_than_the_disk_is_refused_before_any_layer() {
    let shop = shop();
    let (image, _) = shop.offer_signed(&Image::new(2).with("usr/share/big", &noise(9, 8_000_000)));
    let said = has_no_room(&shop, &image);
    assert!(
        !said.iter().any(|doing| doing.starts_with("fetching")),
        "{said:?}"
    );
}

#[test]
fn layers_of_abandoned_fetches_make_room_for_the_next_image() {
    let shop = shop();
    let (first, _) = shop.offer_signed(&Image::new(2).with("usr/share/big", &noise(9, 5_000_000)));
    let (next, commit) =
        shop.offer_signed(&Image::new(3).with("usr/share/big", &noise(8, 5_000_000)));
    let _small = shop.world.small_file_system("", 12 * MIB);
    shop.fetch(&first).fetched();
    shop.forget_what_was_wanted();
    assert_eq!(shop.fetch(&next).fetched().0, commit);
    let facts = shop.world.verb("verify", &commit).verdict;
    assert!(!matches!(facts, Err(Reason::Damaged { .. })), "{facts:?}");
}

#[test]
fn a_layer_that_unpacks_to_more_than_the_room_is_named_as_such() {
    let shop = shop();
    let (image, _) = shop.offer_signed(&Image::new(2).with("usr/share/big", &vec![7; 32 << 20]));
    has_no_room(&shop, &image);
}
