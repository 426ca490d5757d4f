//! Verifies the commit of an image before any layer is imported. ostree-ext imports the layer that
//! begins with the commit last, so careen-deploy reads that beginning separately before. A layer
//! without a commit at its beginning is rejected, because otherwise the files of the other layers
//! would already be on the disk.

use std::time::Duration;

use ostree_ext::containers_image_proxy::oci_spec::image::Descriptor;
use ostree_ext::containers_image_proxy::{ImageProxy, OpenedImage};
use ostree_ext::glib::Bytes;
use ostree_ext::ostree::{Repo, RepoVerifyFlags};
use tokio::io::{AsyncRead, AsyncReadExt, copy, sink};
use tokio::time::timeout;
use upgrade::Reason;

use super::beginning::{Commit, PACKED, Packing, commit_in};
use super::refusal::{away, not_encapsulated};
use super::words;
use crate::args::FetchImage;
use crate::fetch::signature;

/// How much of a packed layer to read first, in bytes: enough for most commits.
const FIRST: u64 = 256 << 10;
/// The factor for the next read, if that was too little.
const TIMES: u64 = 4;

/// How long skopeo may take to compare a digest with the data that it passed on.
const VERDICT: Duration = Duration::from_secs(10);

/// The commit at the beginning of a layer.
///
/// # Errors
/// [`Reason::NotEncapsulated`] if there is none, [`Reason::RemoteAway`] if the layer does not match
/// its digest.
pub async fn commit(
    wanted: &FetchImage,
    (proxy, image): (&ImageProxy, &OpenedImage),
    layer: &Descriptor,
) -> Result<Commit, Reason> {
    let packing = Packing::of(layer).map_err(|detail| not_encapsulated(wanted, detail))?;
    let blob = proxy.get_blob(image, layer.digest(), layer.size()).await;
    let (reader, mut told) = blob.map_err(|error| away(wanted, words::of(wanted, &error)))?;
    let reading = found(reader, packing, layer.size());
    tokio::pin!(reading);
    let mut ended = None;
    let found = loop {
        tokio::select! {
            found = &mut reading => break found,
            // skopeo closes its end only after it is told that all was read.
            end = &mut told, if ended.is_none() => ended = Some(end),
        }
    };
    if found.is_err() && ended.is_none() {
        // All was read, and skopeo is about to report whether it matches the digest.
        ended = timeout(VERDICT, &mut told).await.ok();
    }
    // The registry may have sent other bytes than the digest names. skopeo knows once it has seen
    // all of the layer.
    match (found, ended) {
        (Ok(commit), _) => Ok(commit),
        (Err(_), Some(Err(error))) => Err(away(wanted, words::of(wanted, &error))),
        (Err(why), _) => Err(not_encapsulated(
            wanted,
            format!("its first layer does not begin with an OSTree commit: {why}"),
        )),
    }
}

/// Reads as much as necessary, or all of a layer without a commit.
async fn found(
    mut reader: impl AsyncRead + Unpin,
    packing: Packing,
    size: u64,
) -> Result<Commit, String> {
    let (mut bytes, mut wanted) = (Vec::new(), FIRST);
    let all = size.min(PACKED);
    loop {
        let more = wanted.min(all).saturating_sub(bytes.len() as u64);
        let read = (&mut reader).take(more).read_to_end(&mut bytes).await;
        let read = read.map_err(|error| error.to_string())?;
        let why = match commit_in(packing, &bytes) {
            Ok(commit) => return Ok(commit),
            Err(why) => why,
        };
        if (read as u64) < more || wanted >= all {
            let rest = copy(&mut reader, &mut sink()).await;
            return rest.map_or_else(|error| Err(error.to_string()), |_| Err(why));
        }
        wanted = wanted.saturating_mul(TIMES);
    }
}

/// Verifies it with a remote's keyring.
///
/// # Errors
/// [`Reason::Unsigned`] and [`Reason::WrongSignature`].
pub fn judge(repo: &Repo, remote: &str, commit: &Commit) -> Result<(), Reason> {
    let checksum = commit.checksum.as_str();
    let Some(beside) = &commit.beside else {
        return Err(Reason::Unsigned {
            remote: remote.to_owned(),
            commit: checksum.to_owned(),
        });
    };
    let (bytes, beside) = (Bytes::from(&commit.bytes), Bytes::from(beside));
    let none = RepoVerifyFlags::empty();
    let verdict = repo.signature_verify_commit_data(remote, &bytes, &beside, none);
    verdict.map_or_else(
        |error| Err(signature::refusal(remote, checksum, &error)),
        |_| Ok(()),
    )
}
