//! Images that say that their config is on another server. The node asks no server that an image
//! names before anything vouches for the image.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::image::Image;
use crate::keys::keys;
use crate::run::succeed;

use super::layout::Layout;
use super::{Shop, shop};

const OCI: &str = "application/vnd.oci.image.manifest.v1+json";
const DOCKER: &str = "application/vnd.docker.distribution.manifest.v2+json";
const LIST: &str = "application/vnd.oci.image.index.v1+json";

/// A server that counts who comes, and has nothing for them.
struct Ear {
    port: u16,
    asked: Arc<AtomicU64>,
}

impl Ear {
    fn new() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&asked);
        thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::SeqCst);
                let nothing =
                    "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                let _ = client.read(&mut [0; 4096]);
                let _ = client.write_all(nothing.as_bytes());
            }
        });
        Self { port, asked }
    }

    /// The manifest of the same image in this format, with its config here under this name.
    fn has_the_config(&self, manifest: &Value, format: &str, name: &str) -> Value {
        let mut manifest = of_format(manifest, format);
        manifest["config"][name] = json!([format!("http://127.0.0.1:{}/config", self.port)]);
        manifest
    }

    fn is_not_asked(&self, shop: &Shop, image: &str) {
        let reason = shop.refuses(image, &["NotEncapsulated"]).to_string();
        assert_eq!(self.asked.load(Ordering::SeqCst), 0, "{image}: {reason}");
        assert!(
            reason.contains("its config") || reason.contains("misspelt"),
            "{reason}"
        );
    }
}

fn of_format(manifest: &Value, format: &str) -> Value {
    let mut manifest = manifest.clone();
    manifest["mediaType"] = json!(format);
    if format == DOCKER {
        manifest["config"]["mediaType"] = json!("application/vnd.docker.container.image.v1+json");
        for layer in manifest["layers"].as_array_mut().unwrap() {
            layer["mediaType"] = json!("application/vnd.docker.image.rootfs.diff.tar.gzip");
        }
    }
    manifest
}

fn digest(manifest: &Value) -> String {
    format!(
        "sha256:{}",
        hex::encode(Sha256::digest(manifest.to_string()))
    )
}

/// A list with this manifest, for this machine.
fn list_of(manifest: &Value) -> Value {
    let here = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let one = json!({ "mediaType": manifest["mediaType"], "digest": digest(manifest),
        "size": manifest.to_string().len(), "platform": { "architecture": here, "os": "linux" } });
    json!({ "schemaVersion": 2, "mediaType": LIST, "manifests": [one] })
}

impl Shop {
    fn image_in_a_folder(&self, key: Option<&str>) -> Layout {
        let commit = self.world.publish(&Image::new(2), key);
        let folder = self.world.path("layout");
        let _ = fs::remove_dir_all(&folder);
        self.push(&commit, &format!("oci:{}", folder.display()));
        Layout::of(&folder)
    }

    /// The manifest of an image in the registry.
    fn offered(&self, key: Option<&str>) -> Value {
        let (image, _) = self.offer(&Image::new(2), key);
        let (_, digest) = image.split_once('@').unwrap();
        serde_json::from_slice(&fs::read(self.server.blob(digest)).unwrap()).unwrap()
    }

    /// Puts it into the registry: the image as the annotation takes it.
    fn put(&self, manifest: &Value) -> String {
        let (text, digest) = (manifest.to_string(), digest(manifest));
        let mut stream = TcpStream::connect(("127.0.0.1", self.server.port)).unwrap();
        let kind = manifest["mediaType"].as_str().unwrap();
        write!(
            stream,
            "PUT /v2/team/os/manifests/{digest} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
            text.len()
        )
        .unwrap();
        let mut said = String::new();
        BufReader::new(stream).read_line(&mut said).unwrap();
        assert!(said.contains(" 201 "), "{said}");
        format!("docker://127.0.0.1:{}/team/os@{digest}", self.server.port)
    }
}

/// The same image in an archive.
fn packed(folder: &str, archive: &Path) -> String {
    let (place, digest) = folder.split_once('@').unwrap();
    let place = place.strip_prefix("oci:").unwrap();
    let mut tar = Command::new("tar");
    succeed(tar.arg("-cf").arg(archive).args(["-C", place, "."]));
    format!("oci-archive:{}@{digest}", archive.display())
}

#[test]
fn config_elsewhere_in_a_folder_or_archive_is_not_asked_for() {
    let (shop, ear) = (shop(), Ear::new());
    for format in [OCI, DOCKER] {
        for name in ["urls", "URLs"] {
            let mut layout = shop.image_in_a_folder(None);
            layout.manifest = ear.has_the_config(&layout.manifest, format, name);
            let folder = layout.write();
            ear.is_not_asked(&shop, &folder);
            ear.is_not_asked(&shop, &packed(&folder, &shop.world.path("os.tar")));
        }
    }
}

#[test]
fn config_elsewhere_in_a_registry_is_not_asked_for() {
    let (shop, ear) = (shop(), Ear::new());
    let manifest = shop.offered(None);
    for format in [OCI, DOCKER] {
        let manifest = ear.has_the_config(&manifest, format, "urls");
        ear.is_not_asked(&shop, &shop.put(&manifest));
        ear.is_not_asked(&shop, &shop.put(&list_of(&manifest)));
    }
}

#[test]
fn config_elsewhere_in_the_list_of_a_folder_is_not_asked_for() {
    let (shop, ear) = (shop(), Ear::new());
    for format in [OCI, DOCKER] {
        let mut layout = shop.image_in_a_folder(None);
        layout.manifest = ear.has_the_config(&layout.manifest, format, "urls");
        let image = layout.write_listed(list_of);
        ear.is_not_asked(&shop, &image);
    }
}

#[test]
fn signed_image_of_either_format_is_fetched_also_from_a_list() {
    let shop = shop();
    let manifest = shop.offered(Some(&keys().trusted));
    for format in [OCI, DOCKER] {
        let manifest = of_format(&manifest, format);
        let image = shop.put(&manifest);
        for image in [image, shop.put(&list_of(&manifest))] {
            let (commit, _) = shop.fetch(&image).fetched();
            shop.world.verb("undo", &commit).verdict.unwrap();
        }
        let mut layout = shop.image_in_a_folder(Some(&keys().trusted));
        layout.manifest = of_format(&layout.manifest, format);
        let image = layout.write_listed(list_of);
        for image in [packed(&image, &shop.world.path("os.tar")), image] {
            let (commit, _) = shop.fetch(&image).fetched();
            shop.world.verb("undo", &commit).verdict.unwrap();
        }
    }
}
