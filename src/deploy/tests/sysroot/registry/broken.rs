use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use upgrade::{Digest, Reason};

use crate::image::{Image, noise};
use crate::run::{Answer, succeed};
use crate::trick::Trick;
use crate::world::{REMOTE, flip};

use super::redirected::before;
use super::wire::{Then, Wire};
use super::{Shop, shop, tools};

fn is_away(answer: Answer) {
    let reason = answer.reason();
    assert!(matches!(reason, Reason::RemoteAway { .. }), "{reason}");
}

/// Big enough that a cut comes into the middle of its layers.
fn big() -> Image {
    Image::new(2)
        .with("usr/share/one", &noise(11, 1_500_000))
        .with("usr/share/two", &noise(12, 1_500_000))
        .with("usr/share/three", &noise(13, 1_500_000))
}

/// The image as it is called by way of a wire.
pub(super) fn by_way_of(shop: &Shop, wire: &Wire, image: &str) -> String {
    shop.knows(&[shop.server.port, wire.port]);
    image.replace(
        &format!(":{}/", shop.server.port),
        &format!(":{}/", wire.port),
    )
}

fn biggest_object(shop: &Shop) -> PathBuf {
    let objects = shop.world.root().join("ostree/repo/objects");
    let mut find = Command::new("find");
    find.arg(objects)
        .args(["-name", "*.file", "-printf", "%s %p\n"]);
    let listing = succeed(&mut find);
    let sized = listing.lines().map(|line| line.split_once(' ').unwrap());
    let biggest = sized.max_by_key(|(size, _)| size.parse::<u64>().unwrap());
    PathBuf::from(biggest.unwrap().1)
}

#[test]
fn a_digest_that_the_registry_has_not_is_refused() {
    let shop = shop();
    let (image, _) = shop.offer_signed(&Image::new(2));
    let (place, _) = image.split_once('@').unwrap();
    let other = format!("{place}@sha256:{}", "b".repeat(64));
    let reason = shop.fetch(&other).reason();
    let nothing = Reason::NoSuchImage {
        image: other,
        found: None,
    };
    assert_eq!(reason, nothing);
}

#[test]
fn a_manifest_that_is_not_what_its_digest_says_is_never_used() {
    let shop = shop();
    let (image, commit) = shop.offer_signed(&Image::new(2));
    let (_, digest) = image.split_once('@').unwrap();
    let blob = shop.server.blob(digest);
    let mut manifest = std::fs::read(&blob).unwrap();
    // The same image in other bytes.
    manifest.push(b'\n');
    std::fs::write(&blob, &manifest).unwrap();
    is_away(shop.fetch(&image));
    manifest.pop();
    std::fs::write(&blob, manifest).unwrap();
    assert_eq!(shop.fetch(&image).fetched().0, commit);
}

#[test]
fn a_registry_that_does_not_answer_is_tried_again() {
    let mut shop = shop();
    let (image, _) = shop.offer_signed(&Image::new(2));
    shop.server.go_away();
    is_away(shop.fetch(&image));
}

#[test]
fn corrupt_layer_is_never_used_and_is_fetched_again_once_good() {
    let shop = shop();
    let (image, commit) = shop.offer_signed(&big());
    let layers = shop.server.layers(&image);
    // The commit's own comes last.
    for layer in [&layers[layers.len() / 2], &layers[0]] {
        for bytes in [0..usize::MAX, TIME_OF_MAKING] {
            let blob = shop.server.blob(layer);
            let good = std::fs::read(&blob).unwrap();
            let mut bad = good.clone();
            bad.iter_mut()
                .skip(bytes.start)
                .take(bytes.len())
                .for_each(|byte| *byte = !*byte);
            std::fs::write(&blob, bad).unwrap();
            is_away(shop.fetch(&image));
            std::fs::write(&blob, good).unwrap();
        }
    }
    assert_eq!(shop.fetch(&image).fetched().0, commit);
    shop.world.verb("verify", &commit).verified();
}

/// In a gzip file (RFC 1952): what it holds is the same with any other, so that the digest alone
/// tells.
const TIME_OF_MAKING: std::ops::Range<usize> = 4..8;

#[test]
fn a_fetch_goes_on_where_the_registry_broke_off() {
    let shop = shop();
    let (image, commit) = shop.offer_signed(&big());
    let wire = Wire::new(shop.server.port, 3_200_000, Then::Cut);
    let image = by_way_of(&shop, &wire, &image);
    is_away(shop.fetch(&image));
    wire.repair();
    let (fetched, bytes) = shop.fetch(&image).fetched();
    assert_eq!(fetched, commit);
    assert!(
        bytes < 4_000_000,
        "{bytes}: what had come whole has come again"
    );
    shop.world.verb("verify", &commit).verified();
}

#[test]
fn fetch_from_a_silent_registry_can_be_stopped() {
    let shop = shop();
    let (image, commit) = shop.offer_signed(&big());
    let wire = Wire::new(shop.server.port, 2_000_000, Then::Silent);
    let image = by_way_of(&shop, &wire, &image);
    let mut command = shop.command(&image, &["--signed-by", REMOTE]);
    command.stdout(Stdio::piped());
    command.stderr(Stdio::piped());
    let run = command.spawn().unwrap();
    wire.wait_until_its_end();
    kill(Pid::from_raw(run.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    let answer = Answer::of(&run.wait_with_output().unwrap());
    let reason = answer.reason();
    assert!(matches!(reason, Reason::DeployDied { .. }), "{reason}");
    wire.repair();
    assert_eq!(shop.fetch(&image).fetched().0, commit);
}

/// A layer's ref, when the archive in it was read to its end.
fn is_noted(shop: &Shop, layer: &str) -> bool {
    let name = format!("ostree/container/blob/{}", layer.replace(':', "_3A_"));
    shop.refs().contains(&name)
}

/// Offers an image whose first layer somebody else answers with a lie, and kills the run that has
/// noted it. `None` if the lie is not noted.
fn lied(shop: &Shop, version: u32, lie: &[u8]) -> Option<(String, Digest)> {
    let (image, commit) = shop.offer(&Image::new(version), None);
    let layer = &shop.server.layers(&image)[0];
    let liar = before(shop, layer, |_| Trick::FallsSilent(lie.to_vec()));
    let ports = [shop.server.port, liar.port].map(|port| format!(":{port}/"));
    let mut command = shop.command(&image.replace(&ports[0], &ports[1]), &["--unsigned"]);
    let mut run = command.stdout(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while !is_noted(shop, layer) && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    is_noted(shop, layer).then_some((image, commit))
}

#[test]
fn false_commit_from_a_killed_run_is_not_used_by_the_next_one() {
    let shop = shop();
    let (theirs, other) = shop.offer(&Image::new(3), None);
    shop.fetch_with(&theirs, &["--unsigned"]).fetched();
    let lie = std::fs::read(shop.server.blob(&shop.server.layers(&theirs)[0])).unwrap();
    // A lie that is packed shorter than the layer is not whole for skopeo, so nothing is noted.
    let versions = [2, 4, 5, 6, 7, 8, 9, 10];
    let lied = versions
        .into_iter()
        .find_map(|version| lied(&shop, version, &lie));
    let (image, commit) = lied.expect("a lie that is noted");
    let (fetched, _) = shop.fetch_with(&image, &["--unsigned"]).fetched();
    assert_ne!(fetched, other, "the liar's");
    assert_eq!(fetched, commit);
}

#[test]
fn an_object_that_was_damaged_on_the_disk_is_fetched_again() {
    let shop = shop();
    let (image, commit) = shop.offer_signed(&big());
    shop.fetch(&image).fetched();
    flip(&biggest_object(&shop));
    let reason = shop.world.verb("verify", &commit).reason();
    assert!(matches!(reason, Reason::Damaged { .. }), "{reason}");
    let (_, bytes) = shop.fetch(&image).fetched();
    assert!(bytes > 1_500_000 && bytes < 4_000_000, "{bytes}");
    shop.world.verb("verify", &commit).verified();
}

#[test]
fn skopeo_that_fails_is_named_with_its_status_and_last_line() {
    let shop = shop();
    let (image, _) = shop.offer_signed(&Image::new(2));
    let path = shop.settings("usr/bin/skopeo").display().to_string();
    let skopeo = tools().join("skopeo").display().to_string();
    let end = "echo first >&2; echo it is broken >&2; exit 7";
    for verb in ["experimental-image-proxy", "inspect"] {
        shop.runs(&format!(
            "case \" $* \" in *\" {verb} \"*) {end};; esac; exec {skopeo} \"$@\""
        ));
        let reason = shop.fetch(&image).reason().to_string();
        for words in [&path, "exit status", "7", "it is broken"] {
            assert!(reason.contains(words), "{verb}: {reason}");
        }
    }
}
