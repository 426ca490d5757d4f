//! An image whose manifest and settings agree, and whose layers are not all of its commit:
//! careen-image makes none, a program of somebody else's may.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use upgrade::Reason;

use crate::image::{Image, noise};
use crate::keys::keys;

use super::{Shop, shop};

/// A file as a descriptor names it: digest and size.
fn put(folder: &Path, content: &Value) -> Value {
    let bytes = serde_json::to_vec(content).unwrap();
    let digits = hex::encode(Sha256::digest(&bytes));
    fs::write(folder.join("blobs/sha256").join(&digits), &bytes).unwrap();
    json!({ "digest": format!("sha256:{digits}"), "size": bytes.len() })
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn blob(folder: &Path, descriptor: &Value) -> Value {
    let digest = descriptor["digest"].as_str().unwrap();
    let digits = digest.strip_prefix("sha256:").unwrap();
    read(&folder.join("blobs/sha256").join(digits))
}

/// Takes over digest and size.
fn point(descriptor: &mut Value, to: &Value) {
    for key in ["digest", "size"] {
        descriptor[key] = to[key].clone();
    }
}

/// Leaves out the second layer, the first one with files in it; the digest of what is left.
fn leave_a_layer_out(folder: &Path) -> String {
    let mut index = read(&folder.join("index.json"));
    let mut manifest = blob(folder, &index["manifests"][0]);
    let mut config = blob(folder, &manifest["config"]);
    let layers = manifest["layers"].as_array_mut().unwrap();
    assert!(layers.len() > 2, "the last one is named by a label");
    layers.remove(1);
    config["rootfs"]["diff_ids"]
        .as_array_mut()
        .unwrap()
        .remove(1);
    config["history"].as_array_mut().unwrap().remove(1);
    point(&mut manifest["config"], &put(folder, &config));
    let put = put(folder, &manifest);
    point(&mut index["manifests"][0], &put);
    fs::write(folder.join("index.json"), index.to_string()).unwrap();
    put["digest"].as_str().unwrap().to_owned()
}

fn files() -> Image {
    Image::new(2)
        .with("usr/share/one", &noise(21, 200_000))
        .with("usr/share/two", &noise(22, 200_000))
        .with("usr/share/three", &noise(23, 200_000))
}

fn damaged(shop: &Shop, image: &str) {
    let reason = shop.fetch(image).reason();
    assert!(matches!(reason, Reason::Damaged { .. }), "{reason}");
}

#[test]
fn layers_lacking_a_file_are_damaged_and_a_whole_image_succeeds() {
    let shop = shop();
    let commit = shop.world.publish(&files(), Some(&keys().trusted));
    let [lacking, whole] = ["lacking", "whole"].map(|name| shop.world.path(name));
    shop.push(&commit, &format!("oci:{}", lacking.display()));
    let digest = leave_a_layer_out(&lacking);
    let image = format!("oci:{}@{digest}", lacking.display());
    damaged(&shop, &image);
    // Nothing of it passes for the commit.
    damaged(&shop, &image);
    let image = shop.push(&commit, &format!("oci:{}", whole.display()));
    assert_eq!(shop.fetch(&image).fetched().0, commit);
    shop.world.verb("verify", &commit).verified();
}
