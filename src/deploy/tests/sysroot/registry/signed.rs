use upgrade::Reason;

use crate::image::Image;
use crate::keys::keys;
use crate::world::REMOTE;

use super::{Shop, shop};

/// Refused, and before any layer was brought.
fn refused(shop: &Shop, image: &str) -> Reason {
    let answer = shop.fetch(image);
    let mut said = answer.progress.iter().map(|one| one.doing.as_str());
    assert!(!said.any(|doing| doing.starts_with("fetching layer")));
    answer.reason()
}

#[test]
fn image_with_an_unsigned_commit_is_refused() {
    let shop = shop();
    let (image, commit) = shop.offer(&Image::new(2), None);
    let unsigned = Reason::Unsigned {
        remote: REMOTE.to_owned(),
        commit: commit.to_string(),
    };
    assert_eq!(refused(&shop, &image), unsigned);
    // And again, when all of it lies here.
    shop.fetch_with(&image, &["--unsigned"]).fetched();
    assert_eq!(refused(&shop, &image), unsigned);
}

#[test]
fn an_image_signed_by_a_stranger_is_refused() {
    let shop = shop();
    let (image, _) = shop.offer(&Image::new(2), Some(&keys().stranger));
    let reason = refused(&shop, &image);
    assert!(matches!(reason, Reason::WrongSignature { .. }), "{reason}");
}

#[test]
fn image_without_a_signature_source_is_refused_before_any_call() {
    let mut shop = shop();
    let (image, commit) = shop.offer_signed(&Image::new(2));
    shop.server.go_away();
    let reason = shop.fetch_with(&image, &[]).reason();
    let Reason::Unsigned {
        remote,
        commit: digest,
    } = &reason
    else {
        panic!("{reason}");
    };
    assert_eq!(format!("{remote}@{digest}"), image);
    assert!(
        !shop
            .world
            .disk()
            .iter()
            .any(|line| line.contains(&commit.as_str()[2..]))
    );
}

#[test]
fn unsigned_flag_allows_an_image_without_a_signature() {
    let shop = shop();
    let (image, commit) = shop.offer(&Image::new(2), None);
    assert_eq!(shop.fetch_with(&image, &["--unsigned"]).fetched().0, commit);
}

#[test]
fn signed_by_a_missing_or_unverified_remote_is_refused() {
    let shop = shop();
    let (image, _) = shop.offer_signed(&Image::new(2));
    let reason = shop
        .fetch_with(&image, &["--signed-by", "nowhere"])
        .reason();
    assert!(matches!(reason, Reason::UnknownRemote { .. }), "{reason}");
    shop.world.add_remote("lax", &["--no-gpg-verify"]);
    let reason = shop.fetch_with(&image, &["--signed-by", "lax"]).reason();
    assert!(matches!(reason, Reason::VerificationOff { .. }), "{reason}");
}

#[test]
fn missing_signed_by_keyring_is_named_before_any_registry_call() {
    let mut shop = shop();
    let (image, _) = shop.offer_signed(&Image::new(2));
    shop.server.go_away();
    let path = "/nowhere/key.gpg";
    shop.world
        .add_remote("moved", &[&format!("--set=gpgkeypath={path}")]);
    let reason = shop.fetch_with(&image, &["--signed-by", "moved"]).reason();
    assert!(matches!(reason, Reason::WrongSignature { .. }), "{reason}");
    assert!(reason.to_string().contains(path), "{reason}");
}

#[test]
fn image_missing_the_signature_its_policy_demands_is_refused() {
    let shop = shop();
    let (image, _) = shop.offer_signed(&Image::new(2));
    let scope = format!("127.0.0.1:{}", shop.server.port);
    let ring = keys().ring.display().to_string();
    shop.policy(&format!(
        r#"{{ "default": [{{ "type": "insecureAcceptAnything" }}],
             "transports": {{ "docker": {{ "{scope}": [{{ "type": "signedBy", "keyType": "GPGKeys", "keyPath": "{ring}" }}] }} }} }}"#
    ));
    let reason = shop.fetch_with(&image, &[]).reason();
    assert!(matches!(reason, Reason::WrongSignature { .. }), "{reason}");
}
