use crate::image::{Image, noise};
use crate::world::REMOTE;

use super::{Shop, shop};

#[test]
fn registry_image_yields_its_wrapped_commit_and_can_be_deployed() {
    let shop = shop();
    let (image, commit) = shop.offer_signed(&Image::new(2));
    let answer = shop.fetch(&image);
    let said = answer.progress.iter().map(|one| one.doing.as_str());
    let said: Vec<_> = said.collect();
    assert!(
        said.iter()
            .any(|doing| doing.starts_with("fetching layer 1 of ")),
        "{said:?}"
    );
    let (fetched, bytes) = answer.fetched();
    assert_eq!(fetched, commit);
    assert!(bytes > 400_000, "{bytes}");
    let held = shop
        .world
        .ostree(&[&shop.world.local(), "rev-parse", "careen/target"]);
    assert_eq!(held.trim(), commit.as_str());
    let facts = shop.world.verb("verify", &commit).verified();
    assert_eq!(facts.kernel.as_deref(), Some("6.2.0"));
    assert_eq!(shop.world.verb("deploy", &commit).deployed().digest, commit);
}

#[test]
fn only_the_layers_that_are_missing_are_fetched() {
    let shop = shop();
    let big = noise(7, 2_000_000);
    let (first, commit) = shop.offer_signed(&Image::new(2).with("usr/share/big", &big));
    let (_, bytes) = shop.fetch(&first).fetched();
    assert!(bytes > 2_000_000, "{bytes}");
    // What is deployed keeps its layers through a clean-up.
    shop.world.verb("deploy", &commit).deployed();
    shop.world.verb("bless", &commit).verdict.unwrap();
    shop.world.run(&["clean"]).verdict.unwrap();
    let (next, _) = shop.offer_signed(&Image::new(3).with("usr/share/big", &big));
    let (_, bytes) = shop.fetch(&next).fetched();
    assert!(bytes < 1_000_000, "{bytes} for half a megabyte of changes");
}

#[test]
fn what_lies_here_signed_needs_no_registry() {
    let mut shop = shop();
    let (image, commit) = shop.offer_signed(&Image::new(2));
    shop.fetch(&image).fetched();
    shop.server.go_away();
    assert_eq!(shop.fetch(&image).fetched(), (commit, 0));
}

/// In the order in which they are looked for.
const CREDENTIALS: [&str; 6] = [
    "run/ostree/auth.json",
    "etc/ostree/auth.json",
    "usr/lib/ostree/auth.json",
    "run/containers/0/auth.json",
    "root/.config/containers/auth.json",
    "root/.docker/config.json",
];

#[test]
fn each_credentials_file_is_used_and_wrong_ones_name_their_file() {
    let server = super::server::Server::start(Some(super::server::USER));
    let shop: Shop = super::with(server);
    let port = shop.server.port;
    shop.credentials(port);
    let (image, commit) = shop.offer_signed(&Image::new(2));
    let refused = |with: &str| {
        let reason = shop.fetch(&image).reason();
        assert_eq!(reason.code(), "RemoteAway", "{reason}");
        assert!(reason.to_string().contains(with), "{reason}");
    };
    let path = |file: &str| shop.world.path("settings").join(file);
    std::fs::remove_file(path("etc/ostree/auth.json")).unwrap();
    refused("used no credentials");
    // From the last on, so that each stands before one that is right.
    for file in CREDENTIALS.iter().rev() {
        // user:wrong
        shop.credentials_in(file, port, "dXNlcjp3cm9uZw==");
        refused(&format!("used the credentials of {}", path(file).display()));
        // user:secret
        shop.credentials_in(file, port, "dXNlcjpzZWNyZXQ=");
        let planned = shop.plan(&image).planned();
        assert!(planned.is_ok(), "{file}: {planned:?}");
    }
    assert_eq!(shop.fetch(&image).fetched().0, commit);
}

#[test]
fn credentials_that_are_no_json_are_named_and_not_shown() {
    let shop = shop();
    let (image, _) = shop.offer_signed(&Image::new(2));
    shop.credentials_in("run/ostree/auth.json", shop.server.port, "hidden\"");
    let reason = shop.fetch(&image).reason().to_string();
    assert!(
        reason.contains("cannot use the credentials of") && reason.contains("run/ostree/auth.json"),
        "{reason}"
    );
    assert!(!reason.contains("hidden"), "{reason}");
}

#[test]
fn a_mirror_stands_in_for_the_registry_that_is_named() {
    let shop = shop();
    let (image, commit) = shop.offer_signed(&Image::new(2));
    let port = shop.server.port;
    shop.registries(&format!(
        "[[registry]]\nlocation = \"registry.invalid\"\n[[registry.mirror]]\nlocation = \"127.0.0.1:{port}\"\ninsecure = true\n"
    ));
    let elsewhere = image.replace(&format!("127.0.0.1:{port}"), "registry.invalid");
    assert_eq!(shop.fetch(&elsewhere).fetched().0, commit);
}

#[test]
fn another_commit_than_the_one_asked_for_is_refused() {
    let shop = shop();
    let (image, _) = shop.offer_signed(&Image::new(2));
    let other = "b".repeat(64);
    let flags = ["--signed-by", REMOTE, "--commit", &other];
    let reason = shop.fetch_with(&image, &flags).reason();
    assert_eq!(reason.code(), "NotEncapsulated", "{reason}");
    assert!(reason.to_string().contains(&other), "{reason}");
}
