//! An image in a folder, taken apart and put together in another way: what careen-image never
//! makes, and a stranger may.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Names the last layer of the commit (ostree-ext, container/encapsulate.rs).
const LAST: &str = "ostree.final-diffid";
const TAR: &str = "application/vnd.oci.image.layer.v1.tar";

pub struct Layout {
    folder: PathBuf,
    index: Value,
    pub manifest: Value,
    config: Value,
}

/// A layer as it is packed.
pub struct Packed {
    pub bytes: Vec<u8>,
    pub kind: String,
}

impl Layout {
    pub fn of(folder: &Path) -> Self {
        let index: Value = parse(&fs::read(folder.join("index.json")).unwrap());
        let manifest = parse(&blob(folder, &index["manifests"][0]));
        let config = parse(&blob(folder, &manifest["config"]));
        Self {
            folder: folder.to_owned(),
            index,
            manifest,
            config,
        }
    }

    pub fn layers(&mut self) -> &mut Vec<Value> {
        self.manifest["layers"].as_array_mut().unwrap()
    }

    /// A layer, unpacked.
    pub fn tar(&self, at: usize) -> Vec<u8> {
        let packed = blob(&self.folder, &self.manifest["layers"][at]);
        let mut tar = Vec::new();
        GzDecoder::new(&*packed).read_to_end(&mut tar).unwrap();
        tar
    }

    pub fn replace(&mut self, at: usize, tar: &[u8], packed: &Packed) {
        let own = digest(tar);
        let former = self.config["rootfs"]["diff_ids"][at].clone();
        let label = &mut self.config["config"]["Labels"][LAST];
        if *label == former {
            *label = json!(own);
        }
        self.config["rootfs"]["diff_ids"][at] = json!(own);
        let layer = put(&self.folder, &packed.bytes, &packed.kind);
        self.layers()[at] = layer;
    }

    /// Before the last one.
    pub fn insert(&mut self, tar: &[u8]) {
        let last = self.layers().len() - 1;
        let layer = self.layers()[last].clone();
        self.layers().insert(last, layer);
        for list in [&["rootfs", "diff_ids"][..], &["history"]] {
            let list = list.iter().fold(&mut self.config, |at, key| &mut at[key]);
            let list = list.as_array_mut().unwrap();
            list.insert(last, list[last].clone());
        }
        let diff_ids = &mut self.config["rootfs"]["diff_ids"];
        diff_ids[last] = Value::Null;
        self.replace(last, tar, &gzip(tar));
    }

    /// The image as it is then, as the annotation takes it.
    pub fn write(self) -> String {
        let (folder, manifest) = (self.folder.clone(), self.write_manifest());
        format!(
            "oci:{}@{}",
            folder.display(),
            manifest["digest"].as_str().unwrap()
        )
    }

    /// The same in a list, which this makes of its manifest.
    pub fn write_listed(self, list: impl FnOnce(&Value) -> Value) -> String {
        let (folder, mut index) = (self.folder.clone(), self.index.clone());
        let manifest = self.write_manifest();
        let list = list(&parse(&blob(&folder, &manifest)));
        let kind = list["mediaType"].as_str().unwrap();
        index["manifests"][0] = put(&folder, list.to_string().as_bytes(), kind);
        fs::write(folder.join("index.json"), index.to_string()).unwrap();
        format!(
            "oci:{}@{}",
            folder.display(),
            manifest["digest"].as_str().unwrap()
        )
    }

    /// The descriptor of its manifest.
    fn write_manifest(mut self) -> Value {
        let former = self.manifest["config"].clone();
        let config = serde_json::to_vec(&self.config).unwrap();
        let written = put(&self.folder, &config, former["mediaType"].as_str().unwrap());
        // The rest of it, such as the addresses, stays.
        for key in ["digest", "size"] {
            self.manifest["config"][key] = written[key].clone();
        }
        let manifest = serde_json::to_vec(&self.manifest).unwrap();
        let own = self.manifest["mediaType"].as_str();
        let kind = own.or(self.index["manifests"][0]["mediaType"].as_str());
        let written = put(&self.folder, &manifest, kind.unwrap());
        for key in ["digest", "size", "mediaType"] {
            self.index["manifests"][0][key] = written[key].clone();
        }
        fs::write(self.folder.join("index.json"), self.index.to_string()).unwrap();
        written
    }
}

pub fn gzip(tar: &[u8]) -> Packed {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(tar).unwrap();
    Packed {
        bytes: packed.finish().unwrap(),
        kind: format!("{TAR}+gzip"),
    }
}

pub fn zstd(tar: &[u8]) -> Packed {
    Packed {
        bytes: zstd::encode_all(tar, 1).unwrap(),
        kind: format!("{TAR}+zstd"),
    }
}

/// The same, with a table of contents in a frame that is passed over (containers/storage,
/// zstd:chunked).
pub fn zstd_chunked(tar: &[u8]) -> Packed {
    let mut packed = zstd(tar);
    let table = [&[0x50, 0x2a, 0x4d, 0x18, 5, 0, 0, 0][..], b"table"].concat();
    packed.bytes.extend(table);
    packed
}

pub fn plain(tar: &[u8]) -> Packed {
    Packed {
        bytes: tar.to_owned(),
        kind: TAR.to_owned(),
    }
}

/// Each kilobyte in a member of its own, as eStargz has each file.
pub fn members(tar: &[u8]) -> Packed {
    let bytes = tar.chunks(1024).flat_map(|part| gzip(part).bytes);
    Packed {
        bytes: bytes.collect(),
        kind: format!("{TAR}+gzip"),
    }
}

pub fn cut_off(tar: &[u8]) -> Packed {
    let mut packed = gzip(tar);
    packed.bytes.truncate(100);
    packed
}

pub fn of_another_kind(tar: &[u8]) -> Packed {
    Packed {
        kind: format!("{TAR}+xz"),
        ..gzip(tar)
    }
}

/// A file of a layer.
pub struct Entry {
    pub path: PathBuf,
    header: tar::Header,
    pub content: Vec<u8>,
}

/// The same layer, in which this is done to its files. Links lead nowhere then.
pub fn rewrite(tar: &[u8], change: impl FnOnce(&mut Vec<Entry>)) -> Vec<u8> {
    let mut archive = tar::Archive::new(tar);
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        Entry {
            path: entry.path().unwrap().into_owned(),
            header: entry.header().clone(),
            content,
        }
    });
    let mut files = entries.collect();
    change(&mut files);
    let mut builder = tar::Builder::new(Vec::new());
    for file in &mut files {
        let content = &*file.content;
        builder
            .append_data(&mut file.header, &file.path, content)
            .unwrap();
    }
    builder.into_inner().unwrap()
}

/// One layer with the files of both, each as it was.
pub fn joined(first: &[u8], second: &[u8]) -> Vec<u8> {
    // Blocks of zeros end an archive.
    let mut blocks: Vec<_> = first.chunks(512).collect();
    while blocks
        .pop_if(|block| block.iter().all(|byte| *byte == 0))
        .is_some()
    {}
    [&blocks.concat(), second].concat()
}

fn parse(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

fn blob(folder: &Path, descriptor: &Value) -> Vec<u8> {
    let digest = descriptor["digest"].as_str().unwrap();
    let digits = digest.strip_prefix("sha256:").unwrap();
    fs::read(folder.join("blobs/sha256").join(digits)).unwrap()
}

/// A file, and its descriptor.
fn put(folder: &Path, bytes: &[u8], kind: &str) -> Value {
    let digest = digest(bytes);
    let digits = digest.strip_prefix("sha256:").unwrap();
    fs::write(folder.join("blobs/sha256").join(digits), bytes).unwrap();
    json!({ "mediaType": kind, "digest": digest, "size": bytes.len() })
}
