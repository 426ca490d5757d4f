//! Checks the manifest as it is stored, and refuses it if skopeo would then connect elsewhere. The
//! proxy of skopeo converts a manifest before it shows it, so a second skopeo prints it.

use std::fs;
use std::io;

use host::programs::ended;
use ostree_ext::containers_image_proxy::oci_spec::image::Digest as BlobDigest;
use ostree_ext::containers_image_proxy::{Error, ImageProxy, OpenedImage};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncReadExt;
use upgrade::container::Transport;
use upgrade::{ContainerImage, Reason};

use super::outline::{self, Listed};
use super::refusal::{away, is_the_one, not_encapsulated};
use super::skopeo::{self, Skopeo};
use super::{unpacked, words};
use crate::args::FetchImage;
use crate::site::Site;

/// The longest manifest, in bytes (containers/image, internal/iolimits, `MaxManifestBodySize`).
const LONGEST: u64 = 4 << 20;

/// Checks the manifest of an open image. In a list, checks the manifest of each image that skopeo
/// may choose.
///
/// # Errors
/// [`Reason::NotEncapsulated`] for one with addresses of its own, or why it cannot be read.
pub async fn check(
    site: &Site,
    wanted: &FetchImage,
    skopeo: &Skopeo,
    open: (&ImageProxy, &OpenedImage),
) -> Result<(), Reason> {
    let refused = |detail| not_encapsulated(wanted, detail);
    let reference = reference(site, wanted).map_err(|error| site.broken(error))?;
    let manifest = inspect(site, wanted, skopeo, &reference).await?;
    let list = outline::of(&manifest).map_err(refused)?;
    let in_a_registry = wanted.image.transport == Transport::Registry;
    if list.is_empty() || in_a_registry {
        is_whole(wanted, &manifest)?;
    }
    for one in list {
        let manifest = if in_a_registry {
            let reference = skopeo::reference(&at(wanted, &one));
            inspect(site, wanted, skopeo, &reference).await?
        } else {
            blob(wanted, open, &one).await?
        };
        is_listed(&manifest, &one).map_err(refused)?;
    }
    Ok(())
}

/// skopeo 1.13 does not compare the digest itself.
fn is_whole(wanted: &FetchImage, manifest: &[u8]) -> Result<(), Reason> {
    let digest = digest(manifest);
    is_the_one(wanted, &digest)?;
    if digest == wanted.image.manifest.as_str() {
        return Ok(());
    }
    Err(away(
        wanted,
        format!("a manifest with digest {digest} came"),
    ))
}

/// The error is for a person.
fn is_listed(manifest: &[u8], one: &Listed) -> Result<(), String> {
    let image = &one.digest;
    if digest(manifest) != image.as_str() {
        return Err(format!(
            "image {image} of its list came with another digest"
        ));
    }
    if outline::of(manifest)?.is_empty() {
        Ok(())
    } else {
        Err(format!("image {image} of its list is a list"))
    }
}

fn digest(manifest: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(manifest)))
}

fn at(wanted: &FetchImage, one: &Listed) -> ContainerImage {
    ContainerImage {
        manifest: one.digest.clone(),
        ..wanted.image.clone()
    }
}

/// The image for a second skopeo. Of an archive that is what the first one has unpacked: nobody can
/// replace it, and a second copy would take the room twice.
fn reference(site: &Site, wanted: &FetchImage) -> io::Result<String> {
    if wanted.image.transport != Transport::Archive {
        return Ok(skopeo::reference(&wanted.image));
    }
    let mut there = fs::read_dir(unpacked::folder(site))?;
    let first = there.next().transpose()?;
    // A skopeo that unpacks in another way has no folder here.
    let only = first.filter(|_| there.next().is_none());
    let unpacked = only.map(|folder| ContainerImage {
        transport: Transport::Folder,
        place: folder.path().display().to_string(),
        ..wanted.image.clone()
    });
    Ok(skopeo::reference(
        unpacked.as_ref().unwrap_or(&wanted.image),
    ))
}

async fn inspect(
    site: &Site,
    wanted: &FetchImage,
    skopeo: &Skopeo,
    reference: &str,
) -> Result<Vec<u8>, Reason> {
    let command = skopeo.inspect(reference);
    let mut command = command.map_err(|error| site.broken(error))?;
    let output = tokio::task::spawn_blocking(move || command.output()).await;
    let output = output.map_err(|error| site.broken(error))?;
    let program = skopeo::program(&wanted.settings);
    let failed = |error| site.broken(format!("cannot run {}: {error}", program.display()));
    let output = output.map_err(failed)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let ended = ended(&program, output.status, &output.stderr);
    Err(away(wanted, words::told(&ended)))
}

/// A manifest in a folder. The call names no addresses, so skopeo reads only the folder.
async fn blob(
    wanted: &FetchImage,
    (proxy, image): (&ImageProxy, &OpenedImage),
    one: &Listed,
) -> Result<Vec<u8>, Reason> {
    let failed = |error: Error| away(wanted, words::of(wanted, &error));
    if one.size > LONGEST {
        let detail = format!(
            "image {} of its list has a manifest longer than {LONGEST} bytes",
            one.digest
        );
        return Err(not_encapsulated(wanted, detail));
    }
    let digest: BlobDigest = one.digest.as_str().parse().map_err(|error| {
        not_encapsulated(wanted, format!("image {} of its list: {error}", one.digest))
    })?;
    let opened = proxy.get_blob(image, &digest, one.size).await;
    let (reader, told) = opened.map_err(failed)?;
    // The pipe closes after the read. Otherwise a skopeo with more to write would never end.
    let reading = async move {
        let mut bytes = Vec::new();
        let read = reader.take(LONGEST).read_to_end(&mut bytes).await;
        read.map(|_| bytes)
    };
    let (read, told) = tokio::join!(reading, told);
    told.map_err(failed)?;
    read.map_err(|error| away(wanted, error.to_string()))
}
