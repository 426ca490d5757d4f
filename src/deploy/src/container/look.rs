//! Examines the image under a digest before any layer is fetched: whether it exists, is allowed,
//! and is the requested OSTree commit with a valid signature.

use std::path::Path;

use ostree_ext::containers_image_proxy::oci_spec::image::{
    Descriptor, ImageConfiguration, ImageManifest,
};
use ostree_ext::containers_image_proxy::{Error, ImageProxy, OpenedImage};
use upgrade::Reason;
use upgrade::container::Transport;
use upgrade::id::Digest;

use super::cover::Cover;
use super::refusal::{away, is_the_one, not_encapsulated, nothing};
use super::skopeo::{self, Skopeo};
use super::{beginning, early, outline, raw, unpacked, words};
use crate::args::FetchImage;
use crate::fetch::room::Room;
use crate::site::Site;

/// Names the last layer that is a part of the commit (ostree-ext, container/encapsulate.rs).
const LAST_LAYER: &str = "ostree.final-diffid";

/// The image that was judged. The import must match it.
pub struct Judged {
    /// What skopeo says is the digest of the manifest.
    pub digest: String,
    /// The manifest.
    pub manifest: ImageManifest,
    /// The commit that its first layer begins with.
    pub commit: Digest,
}

/// Examines the image.
///
/// # Errors
/// What is wrong with it, or that no server answers.
pub async fn at(
    site: &Site,
    wanted: &FetchImage,
    skopeo: &Skopeo,
    cover: &Cover,
) -> Result<Judged, Reason> {
    let (proxy, image) = opened(site, wanted, skopeo).await?;
    raw::check(site, wanted, skopeo, (&proxy, &image)).await?;
    let (digest, manifest, config) = described(wanted, &proxy, &image).await?;
    let first = encapsulated(&manifest, &config);
    let first = first.map_err(|detail| not_encapsulated(wanted, detail))?;
    let commit = early::commit(wanted, (&proxy, &image), first).await?;
    is_asked_for(wanted, &commit.checksum)?;
    if let Cover::Keyring(remote) = cover {
        early::judge(&site.sysroot.repo(), remote, &commit)?;
    }
    Ok(Judged {
        digest,
        commit: commit.checksum,
        manifest,
    })
}

/// Asks skopeo whether its policy accepts the image. Fetches no part of it.
///
/// # Errors
/// [`Reason::WrongSignature`], or that no server answers.
pub async fn is_accepted(site: &Site, wanted: &FetchImage, skopeo: &Skopeo) -> Result<(), Reason> {
    opened(site, wanted, skopeo).await.map(drop)
}

/// Opens the image, if skopeo's policy accepts it.
async fn opened(
    site: &Site,
    wanted: &FetchImage,
    skopeo: &Skopeo,
) -> Result<(ImageProxy, OpenedImage), Reason> {
    site.report.progress(0, "asking for the image");
    let in_a_registry = wanted.image.transport == Transport::Registry;
    // skopeo has no other word for that than for a broken one.
    if !in_a_registry && !Path::new(&wanted.image.place).exists() {
        return Err(nothing(wanted, None));
    }
    let proxy = start(site, wanted, skopeo).await?;
    match open(site, wanted, &proxy).await? {
        Ok(Some(image)) => Ok((proxy, image)),
        Ok(None) => Err(nothing(wanted, None)),
        Err(error) => Err(refused(site, wanted, skopeo, &error).await),
    }
}

/// Checks that it is the commit that the request names, if it names one.
///
/// # Errors
/// [`Reason::NotEncapsulated`] with the commit that it contains.
pub fn is_asked_for(wanted: &FetchImage, commit: &Digest) -> Result<(), Reason> {
    match &wanted.commit {
        Some(other) if other != commit => Err(not_encapsulated(
            wanted,
            format!("it has commit {commit}, but {other} is requested"),
        )),
        Some(_) | None => Ok(()),
    }
}

async fn start(site: &Site, wanted: &FetchImage, skopeo: &Skopeo) -> Result<ImageProxy, Reason> {
    unpacked::make_empty(site, wanted)?;
    let config = skopeo.config().map_err(|error| site.broken(error))?;
    let proxy = ImageProxy::new_with_config(config).await;
    // Debian: package skopeo.
    proxy.map_err(|error| site.broken(format!("cannot run {}", words::of(wanted, &error))))
}

/// Runs as long as there is room, because an archive may unpack to more than its own size.
///
/// # Errors
/// [`Reason::NoRoom`].
async fn open(
    site: &Site,
    wanted: &FetchImage,
    proxy: &ImageProxy,
) -> Result<Result<Option<OpenedImage>, Error>, Reason> {
    let reference = skopeo::reference(&wanted.image);
    let opening = proxy.open_image_optional(&reference);
    if wanted.image.transport != Transport::Archive {
        return Ok(opening.await);
    }
    let room = Room::of(site, &site.sysroot.repo());
    let room = room.and_of_unpacking(site, &unpacked::folder(site));
    tokio::select! {
        opened = opening => Ok(opened),
        shortage = room.until_short() => Err(shortage),
    }
}

async fn described(
    wanted: &FetchImage,
    proxy: &ImageProxy,
    image: &OpenedImage,
) -> Result<(String, ImageManifest, ImageConfiguration), Reason> {
    let failed = |error: Error| {
        if let Error::SerDe(error) = error {
            not_encapsulated(wanted, error.to_string())
        } else {
            away(wanted, words::of(wanted, &error))
        }
    };
    let fetched = proxy.fetch_manifest_raw_oci(image).await;
    let (digest, manifest) = fetched.map_err(failed)?;
    is_the_one(wanted, &digest)?;
    // A folder may have changed since its manifest was checked.
    outline::of(&manifest).map_err(|detail| not_encapsulated(wanted, detail))?;
    let manifest = serde_json::from_slice(&manifest);
    let manifest = manifest.map_err(|error| failed(error.into()))?;
    let config = proxy.fetch_config(image).await.map_err(failed)?;
    Ok((digest, manifest, config))
}

/// If the image opens without a policy in force, the policy rejected it: skopeo has no code for
/// that.
async fn refused(site: &Site, wanted: &FetchImage, skopeo: &Skopeo, error: &Error) -> Reason {
    let detail = words::of(wanted, error);
    // It may be they that it refuses, and it has no code that tells so.
    let with_credentials = match wanted.image.transport {
        Transport::Registry => format!("{detail}; {}", skopeo.asked()),
        Transport::Archive | Transport::Folder => detail.clone(),
    };
    if skopeo.policy.is_none() {
        return away(wanted, with_credentials);
    }
    let proxy = match start(site, wanted, &skopeo.without_policy()).await {
        Ok(proxy) => proxy,
        Err(reason) => return reason,
    };
    let opened = match open(site, wanted, &proxy).await {
        Ok(opened) => opened,
        Err(reason) => return reason,
    };
    match opened {
        Ok(Some(_)) => Reason::WrongSignature {
            remote: wanted.image.address(),
            commit: wanted.image.manifest.to_string(),
            detail,
        },
        Ok(None) => nothing(wanted, None),
        Err(_) => away(wanted, with_credentials),
    }
}

/// The first layer of an image whose layers all belong to one commit and can be read. The commit's
/// signature does not cover layers on top of it, and they are not the same on every node. The error
/// is for a person.
fn encapsulated<'a>(
    manifest: &'a ImageManifest,
    config: &ImageConfiguration,
) -> Result<&'a Descriptor, String> {
    let labels = config
        .config()
        .as_ref()
        .and_then(|run| run.labels().as_ref());
    let last = labels
        .and_then(|labels| labels.get(LAST_LAYER))
        .ok_or_else(|| format!("it does not have the label {LAST_LAYER}"))?;
    let mut layers = config.rootfs().diff_ids().iter();
    let at = layers.position(|layer| layer == last);
    let (first, more) = at
        .and_then(|at| manifest.layers().split_at_checked(at + 1))
        .and_then(|(own, more)| Some((own.first()?, more.len())))
        .ok_or_else(|| format!("its label {LAST_LAYER} does not name one of its layers"))?;
    if more > 0 {
        return Err(format!(
            "{more} layers are on top of its OSTree commit, as a Containerfile adds them"
        ));
    }
    beginning::readable(manifest)?;
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// An image with these layers, of which the label names one.
    fn judged(layers: &[&str], last: Option<&str>) -> Result<(), String> {
        with_layers(layers.len(), layers, last)
    }

    /// One whose settings list these layers, and whose manifest so many.
    fn with_layers(many: usize, layers: &[&str], last: Option<&str>) -> Result<(), String> {
        let blob = json!({ "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "size": 1,
            "digest": format!("sha256:{}", "a".repeat(64)) });
        let manifest = json!({ "schemaVersion": 2, "config": blob, "layers": vec![blob; many] });
        let labels = last.map(|last| json!({ LAST_LAYER: last }));
        let config = json!({ "architecture": "amd64", "os": "linux", "config": { "Labels": labels },
            "rootfs": { "type": "layers", "diff_ids": layers }, "history": [] });
        encapsulated(
            &serde_json::from_value(manifest).unwrap(),
            &serde_json::from_value(config).unwrap(),
        )
        .map(drop)
    }

    #[test]
    fn an_image_is_a_commit_and_nothing_on_top_of_it() {
        assert_eq!(judged(&["commit", "files"], Some("files")), Ok(()));
        let more = judged(&["commit", "files", "run", "copy"], Some("files")).unwrap_err();
        assert!(more.starts_with("2 layers are on top"), "{more}");
        let plain = judged(&["rootfs"], None).unwrap_err();
        assert!(plain.contains("does not have the label"), "{plain}");
        let wrong = judged(&["commit"], Some("files")).unwrap_err();
        assert!(wrong.contains("does not name one of its layers"), "{wrong}");
    }

    #[test]
    fn layers_that_are_fewer_than_the_settings_say_are_refused() {
        for layers in [0, 1] {
            let wrong = with_layers(layers, &["commit", "files"], Some("files")).unwrap_err();
            assert!(wrong.contains("does not name one of its layers"), "{wrong}");
        }
    }
}
