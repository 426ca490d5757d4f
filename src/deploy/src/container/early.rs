//! Refuses a commit by its signature before any file of it is brought. The layer that begins with the commit is brought last, so its first bytes
//! are read once more beforehand. What cannot be read here is judged when the commit is whole, as every commit is.

use std::io::Read;

use flate2::read::GzDecoder;
use ostree_ext::containers_image_proxy::oci_spec::image::Descriptor;
use ostree_ext::containers_image_proxy::{ImageProxy, OpenedImage};
use ostree_ext::glib::Bytes;
use ostree_ext::ostree::{Repo, RepoVerifyFlags};
use tar::Entry;
use tokio::io::AsyncReadExt;
use upgrade::Reason;
use upgrade::id::Digest;

use crate::fetch::signature;

/// Enough for a commit and its signatures, in bytes as they are packed.
const BEGINNING: u64 = 256 << 10;
/// More than a commit or its signatures ever are, in bytes: a longer one is not taken into memory.
const LONGEST: u64 = 1 << 20;
/// Where objects lie in a layer (ostree-ext, tar/export.rs).
const OBJECTS: &str = "sysroot/ostree/repo/objects/";
/// What a gzip file begins with (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A commit as it stands in the layer.
struct Commit {
    checksum: Digest,
    bytes: Vec<u8>,
    /// What is kept beside it; nothing when there is nothing.
    beside: Option<Vec<u8>>,
}

/// Judges the commit at the beginning of a layer by a remote's keyring.
///
/// # Errors
/// [`Reason::Unsigned`] and [`Reason::WrongSignature`].
pub async fn check(
    repo: &Repo,
    remote: &str,
    (proxy, image): (&ImageProxy, &OpenedImage),
    layer: &Descriptor,
) -> Result<(), Reason> {
    let bytes = beginning(proxy, image, layer).await;
    match bytes.and_then(|bytes| commit_in(&bytes)) {
        Some(commit) => judge(repo, remote, &commit),
        None => Ok(()),
    }
}

/// skopeo closes its end only when it is told that all was read, and gives up when ours is closed.
async fn beginning(proxy: &ImageProxy, image: &OpenedImage, layer: &Descriptor) -> Option<Vec<u8>> {
    let blob = proxy.get_blob(image, layer.digest(), layer.size());
    let (reader, told) = blob.await.ok()?;
    let read = async move {
        let mut bytes = Vec::new();
        let mut reader = reader.take(BEGINNING);
        let read = reader.read_to_end(&mut bytes).await;
        read.is_ok().then_some(bytes)
    };
    let (bytes, _) = tokio::join!(read, told);
    bytes
}

fn commit_in(layer: &[u8]) -> Option<Commit> {
    let plain: Box<dyn Read + '_> = if layer.starts_with(&GZIP) {
        Box::new(GzDecoder::new(layer))
    } else {
        Box::new(layer)
    };
    let mut archive = tar::Archive::new(plain);
    let entries = archive.entries().ok()?.map_while(Result::ok);
    let mut objects = entries.filter_map(|entry| Some((object_of(&entry)?, entry)));
    let (name, entry) = objects.next()?;
    let checksum = name.strip_suffix(".commit")?.parse().ok()?;
    let bytes = content(entry)?;
    let (next, entry) = objects.next()?;
    let beside = match next == format!("{name}meta") {
        true => Some(content(entry)?),
        false => None,
    };
    Some(Commit {
        checksum,
        bytes,
        beside,
    })
}

/// The name of an object, as `<checksum>.<kind>`. Before the first one come the folders of all.
fn object_of<R: Read>(entry: &Entry<'_, R>) -> Option<String> {
    if !entry.header().entry_type().is_file() {
        return None;
    }
    let path = entry.path().ok()?;
    let name = path.to_str()?.strip_prefix(OBJECTS)?;
    Some(name.replace('/', ""))
}

/// All of it, or nothing.
fn content<R: Read>(mut entry: Entry<'_, R>) -> Option<Vec<u8>> {
    let size = entry.size();
    let mut bytes = Vec::new();
    if size > LONGEST || entry.read_to_end(&mut bytes).is_err() {
        return None;
    }
    (bytes.len() as u64 == size).then_some(bytes)
}

fn judge(repo: &Repo, remote: &str, commit: &Commit) -> Result<(), Reason> {
    let Some(beside) = &commit.beside else {
        return Err(Reason::Unsigned {
            remote: remote.to_owned(),
            commit: commit.checksum.to_string(),
        });
    };
    let (bytes, beside) = (Bytes::from(&commit.bytes), Bytes::from(beside));
    let none = RepoVerifyFlags::empty();
    match repo.signature_verify_commit_data(remote, &bytes, &beside, none) {
        Ok(_) => Ok(()),
        Err(error) => {
            signature::reason(remote, commit.checksum.as_str(), &error).map_or(Ok(()), Err)
        }
    }
}
