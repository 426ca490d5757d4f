//! Reads the commit at the beginning of an image's first layer, by the rules of ostree-ext
//! (unencapsulate.rs, `decompressor`; tar/import.rs, `import_commit`). Input that ostree-ext would
//! read differently is rejected here, because a second interpretation could bypass the first.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::GzDecoder;
use ostree_ext::containers_image_proxy::oci_spec::image::{Descriptor, ImageManifest, MediaType};
use sha2::{Digest as _, Sha256};
use tar::Entry;
use upgrade::id::Digest;

/// The longest commit, and the longest signatures, in bytes (ostree-ext, tar/import.rs,
/// `MAX_METADATA_SIZE`).
const LONGEST: u64 = 10 << 20;
/// How much of a layer to unpack to find both: folders come before them.
const UNPACKED: u64 = 2 * LONGEST + (1 << 20);
/// How much of the packed layer to read for that.
pub const PACKED: u64 = UNPACKED;
/// Where ostree-ext looks for objects in a layer.
const REPO: &str = "sysroot/ostree/repo/";
const OBJECTS: &str = "objects";
/// skopeo's media type for an uncompressed layer of an image in Docker's format.
const DOCKER_TAR: &str = "application/vnd.docker.image.rootfs.diff.tar";

/// A commit as it is in the layer.
#[derive(Debug)]
pub struct Commit {
    /// Its checksum, which its bytes must match.
    pub checksum: Digest,
    /// Its object.
    pub bytes: Vec<u8>,
    /// The object with its signatures, or `None` when another object follows.
    pub beside: Option<Vec<u8>>,
}

/// The compression of an image's layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// By gzip.
    Gzip,
    /// By zstd, including zstd:chunked.
    Zstd,
}

impl Packing {
    /// The compression of this layer.
    ///
    /// # Errors
    /// ostree-ext unpacks no such layer, or it is not stored with the image. The message is for a
    /// person.
    pub fn of(layer: &Descriptor) -> Result<Self, String> {
        if layer.urls().as_ref().is_some_and(|urls| !urls.is_empty()) {
            return Err(format!("layer {} is not in the registry", layer.digest()));
        }
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "a library's enum, which grows"
        )]
        match layer.media_type() {
            MediaType::ImageLayer => Ok(Self::Plain),
            MediaType::Other(other) if other == DOCKER_TAR => Ok(Self::Plain),
            MediaType::ImageLayerGzip => Ok(Self::Gzip),
            MediaType::ImageLayerZstd => Ok(Self::Zstd),
            other => Err(format!(
                "layer {} has type {other}, which is not supported: it must be tar, plain or compressed with gzip or zstd",
                layer.digest()
            )),
        }
    }

    fn unpack<'a>(self, layer: &'a [u8]) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Self::Plain => Box::new(layer),
            Self::Gzip => Box::new(GzDecoder::new(layer)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::new(layer)?),
        })
    }
}

/// Checks that every layer can be read.
///
/// # Errors
/// The first layer that cannot. The message is for a person.
pub fn readable(manifest: &ImageManifest) -> Result<(), String> {
    manifest
        .layers()
        .iter()
        .try_for_each(|layer| Packing::of(layer).map(drop))
}

/// The commit at the beginning of a layer.
///
/// # Errors
/// These bytes contain none; more bytes may. The message is for a person.
pub fn commit_in(packing: Packing, layer: &[u8]) -> Result<Commit, String> {
    let unpacked = packing.unpack(layer).map_err(|error| error.to_string())?;
    let mut archive = tar::Archive::new(unpacked.take(UNPACKED));
    let entries = archive.entries().map_err(|error| error.to_string())?;
    let mut objects = entries.filter_map(|entry| object(entry).transpose());
    let mut next = || objects.next().unwrap_or_else(|| Err("it ends".to_owned()));
    let (name, entry) = next()?;
    let checksum = name.strip_suffix(".commit").and_then(|it| it.parse().ok());
    let checksum: Digest = checksum.ok_or_else(|| format!("{name:?} is not a commit"))?;
    let bytes = content(entry)?;
    if hex::encode(Sha256::digest(&bytes)) != checksum.as_str() {
        return Err(format!("commit {checksum} does not have its checksum"));
    }
    let (beside, entry) = next()?;
    let beside = (beside == format!("{name}meta")).then(|| content(entry));
    Ok(Commit {
        checksum,
        bytes,
        beside: beside.transpose()?,
    })
}

/// An entry and its name as `<checksum>.<kind>`, or `None` for an entry that ostree-ext skips.
fn object<R: Read>(entry: io::Result<Entry<'_, R>>) -> Named<'_, R> {
    let entry = entry.map_err(|error| error.to_string())?;
    if entry.header().entry_type().is_dir() {
        return Ok(None);
    }
    let path = entry.path().map_err(|error| error.to_string())?;
    let Ok(path) = path.strip_prefix(REPO) else {
        return Ok(None);
    };
    if path.file_name().is_some_and(|name| name == "config") || path.starts_with("refs") {
        return Ok(None);
    }
    let name = name_of(path).ok_or_else(|| format!("{} is not an object", path.display()))?;
    Ok(Some((name, entry)))
}

type Named<'a, R> = Result<Option<(String, Entry<'a, R>)>, String>;

/// ostree-ext uses only the last two parts, wherever they are.
fn name_of(path: &Path) -> Option<String> {
    let parts: Option<Vec<_>> = path.iter().map(OsStr::to_str).collect();
    match parts?.as_slice() {
        [OBJECTS, first, rest] if first.len() == 2 => Some([*first, *rest].concat()),
        _ => None,
    }
}

/// All of it, or nothing.
fn content<R: Read>(mut entry: Entry<'_, R>) -> Result<Vec<u8>, String> {
    let size = entry.header().size().map_err(|error| error.to_string())?;
    if !entry.header().entry_type().is_file() || entry.size() != size || size > LONGEST {
        return Err(format!(
            "an object of {size} bytes is too long, or is not a plain file"
        ));
    }
    let mut bytes = Vec::new();
    let read = entry.read_to_end(&mut bytes);
    match read {
        Ok(_) if bytes.len() as u64 == size => Ok(bytes),
        Ok(_) => Err("it ends within an object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
