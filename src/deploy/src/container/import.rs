//! Imports the missing layers, one by one, and verifies that the commit is complete.

use std::time::Duration;

use host::redact::veiled;
use ostree_ext::container::store::{
    ImageImporter, ImportProgress, LayerProgress, LayeredImageState, PrepareResult, PreparedImport,
};
use ostree_ext::container::{ImageReference, OstreeImageReference, SignatureSource};
use ostree_ext::glib;
use ostree_ext::ostree::Repo;
use tokio::sync::{mpsc, watch};
use upgrade::Reason;
use upgrade::id::Digest;

use super::came::Before;
use super::layers::{self, Missing};
use super::look::Judged;
use super::refusal::{away, is_the_one, not_encapsulated};
use super::skopeo::{self, Skopeo};
use super::{held, words};
use crate::args::FetchImage;
use crate::fetch::room::{self, Room};
use crate::fetch::why;
use crate::gc::layers::make_room;
use crate::gc::{sweep, unfinished};
use crate::lock;
use crate::site::Site;
use crate::verify::fsck::damaged;

/// The error for an image whose layers do not contain all of its commit.
const LACKING: &str = "the image's layers do not have all its objects";

/// How often to check the room.
const TICK: Duration = Duration::from_millis(250);

/// Imports all of it. Returns the commit, and how many bytes were fetched.
///
/// # Errors
/// Why it is not complete.
pub async fn all(
    site: &Site,
    wanted: &FetchImage,
    skopeo: &Skopeo,
    judged: &Judged,
) -> Result<(Digest, u64), Reason> {
    let repo = site.sysroot.repo();
    let failed = |error: anyhow::Error| reason(site, &repo, wanted, &error);
    let image = (wanted, judged);
    let mut importer = importer(site, wanted, skopeo, &repo).await?;
    let events = importer.request_progress();
    let counts = importer.request_layer_progress();
    let mut prepared = match importer.prepare().await.map_err(failed)? {
        PrepareResult::Ready(prepared) => prepared,
        // Another tool has imported this image.
        PrepareResult::AlreadyPresent(state) => {
            is_the_one(wanted, state.manifest_digest.as_ref())?;
            return finish(site, image, &state, &Brought::nothing());
        }
    };
    is_judged(image, &prepared)?;
    layers::forget_unsure(&repo, &mut prepared);
    let mut missing = Missing::of(&prepared);
    room::too_few_inodes(site).map_or(Ok(()), Err)?;
    make_room(site, &layers::here(&prepared), || {
        room::too_little_for(site, &repo, missing.total())
    })?;
    let references = references(&prepared);
    let before = before(site)?;
    unfinished::note(site)?;
    let work = importer.import(prepared);
    let imported = follow(site, &mut missing, work, (events, counts)).await;
    if imported.is_err() {
        missing.forget_unfinished(&repo);
    }
    let state = imported.map_err(|ended| match ended {
        Ended::Short(reason) => reason,
        Ended::Broke(error) => {
            lacking(&repo, &missing, &references).unwrap_or_else(|| failed(error))
        }
    })?;
    let brought = Brought {
        references,
        before: Some(before),
        bytes: missing.bytes,
    };
    finish(site, image, &state, &brought)
}

/// What an import brought.
struct Brought {
    /// The refs of the layers.
    references: Vec<String>,
    /// The objects that were there before.
    before: Option<Before>,
    bytes: u64,
}

impl Brought {
    const fn nothing() -> Self {
        Self {
            references: Vec::new(),
            before: None,
            bytes: 0,
        }
    }
}

/// The objects that are there before the import. What an interrupted import brought and no ref
/// holds is removed first. Otherwise it would count as old.
fn before(site: &Site) -> Result<Before, Reason> {
    if unfinished::is_noted(site) {
        site.report
            .progress(0, "removing what an interrupted fetch left");
        let _held = lock::acquire(site)?;
        sweep::clear_and_prune(site)?;
    }
    Before::see(&site.path).map_err(|error| site.broken(error))
}

/// Checks that the image to import is the one that was judged, because skopeo has opened it again
/// since.
fn is_judged(
    (wanted, judged): (&FetchImage, &Judged),
    prepared: &PreparedImport,
) -> Result<(), Reason> {
    let digest = prepared.manifest_digest.as_ref();
    is_the_one(wanted, digest)?;
    let same = digest == judged.digest && prepared.manifest == judged.manifest;
    // Layers on top of the commit are not part of it.
    if same && prepared.layers.is_empty() {
        return Ok(());
    }
    Err(not_encapsulated(
        wanted,
        format!("manifest {} was checked, but {digest} came", judged.digest),
    ))
}

async fn importer(
    site: &Site,
    wanted: &FetchImage,
    skopeo: &Skopeo,
    repo: &Repo,
) -> Result<ImageImporter, Reason> {
    let failed = |error: anyhow::Error| reason(site, repo, wanted, &error);
    let imgref = skopeo::reference(&wanted.image);
    let image = OstreeImageReference {
        // By now it is known what vouches for the image. A signature inside is verified when the
        // commit is complete.
        sigverify: SignatureSource::ContainerPolicyAllowInsecure,
        imgref: ImageReference::try_from(imgref.as_str()).map_err(failed)?,
    };
    let config = skopeo.config().map_err(|error| site.broken(error))?;
    let mut importer = ImageImporter::new(repo, &image, config)
        .await
        .map_err(failed)?;
    // The refs are ours to write and to clear.
    importer.set_no_imgref();
    importer.disable_gc();
    Ok(importer)
}

fn references(prepared: &PreparedImport) -> Vec<String> {
    let layers = prepared.all_layers();
    layers.map(|layer| layer.ostree_ref.clone()).collect()
}

type Channels = (
    mpsc::Receiver<ImportProgress>,
    watch::Receiver<Option<LayerProgress>>,
);

/// Why layers did not arrive.
enum Ended {
    /// The room was about to run out.
    Short(Reason),
    /// ostree-ext reported an error.
    Broke(anyhow::Error),
}

/// Reports progress during the import, as long as there is room.
async fn follow(
    site: &Site,
    missing: &mut Missing,
    work: impl Future<Output = anyhow::Result<Box<LayeredImageState>>>,
    (mut events, mut counts): Channels,
) -> Result<Box<LayeredImageState>, Ended> {
    let room = Room::of(site, &site.sysroot.repo());
    let mut ticks = tokio::time::interval(TICK);
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done.map_err(Ended::Broke),
            Some(event) = events.recv() => missing.take(&event),
            Ok(()) = counts.changed() => {
                if let Some(progress) = counts.borrow_and_update().as_ref() {
                    missing.count(progress);
                }
            }
            _ = ticks.tick() => {
                if let Some(shortage) = room.shortage() {
                    return Err(Ended::Short(shortage));
                }
            }
        }
        missing.tell(&site.report);
    }
}

/// Checks that the layers are exactly the commit that was judged, complete and without anything
/// else; then records the image. After a failure the retry fetches every layer again, because it is
/// unknown which layer should contain what is missing.
fn finish(
    site: &Site,
    (wanted, judged): (&FetchImage, &Judged),
    state: &LayeredImageState,
    brought: &Brought,
) -> Result<(Digest, u64), Reason> {
    let repo = site.sysroot.repo();
    let commit = &judged.commit;
    let found = whole(&repo, wanted, judged, state, brought)
        .and_then(|()| is_all_of_it(site, wanted, judged, state, brought));
    found.inspect_err(|_| layers::forget_all(&repo, &brought.references))?;
    held::remember(site, &wanted.image, commit, &state.merge_commit)?;
    Ok((commit.clone(), brought.bytes))
}

fn whole(
    repo: &Repo,
    wanted: &FetchImage,
    judged: &Judged,
    state: &LayeredImageState,
    brought: &Brought,
) -> Result<(), Reason> {
    let commit = &judged.commit;
    if state.base_commit != commit.as_str() {
        let detail = format!(
            "commit {commit} was checked, but {} came",
            state.base_commit
        );
        return Err(not_encapsulated(wanted, detail));
    }
    if !layers::is_whole(repo, commit.as_str()) {
        return Err(damaged(commit, LACKING));
    }
    let stranger = layers::stranger(repo, commit.as_str(), &brought.references);
    stranger.map_or(Ok(()), |file| Err(not_in_it(wanted, commit, &file)))
}

/// Checks that no object came that neither the commit nor the record of a layer has.
fn is_all_of_it(
    site: &Site,
    wanted: &FetchImage,
    judged: &Judged,
    state: &LayeredImageState,
    brought: &Brought,
) -> Result<(), Reason> {
    let Some(before) = &brought.before else {
        return Ok(());
    };
    let repo = site.sysroot.repo();
    let layers = brought.references.iter();
    let layers = layers.filter_map(|layer| repo.resolve_rev(layer, true).ok()?);
    let layers: Vec<_> = layers.map(String::from).collect();
    let own = [judged.commit.as_str(), &state.merge_commit];
    let commits = own.into_iter().chain(layers.iter().map(String::as_str));
    let stranger = before.stranger(&repo, commits);
    let stranger = stranger.map_err(|error| site.broken(error))?;
    stranger.map_or(Ok(()), |object| {
        Err(not_in_it(wanted, &judged.commit, &object))
    })
}

fn not_in_it(wanted: &FetchImage, commit: &Digest, object: &str) -> Reason {
    let detail = format!("its layers have file {object}, which is not in commit {commit}");
    not_encapsulated(wanted, detail)
}

/// Why complete layers make no image: they lack objects of the commit, which ostree-ext finds when
/// it assembles them. The registry has sent all that it has, so a retry does not help.
fn lacking(repo: &Repo, missing: &Missing, references: &[String]) -> Option<Reason> {
    // The first of them is the layer that brings the commit's own object.
    let commit = repo.resolve_rev(references.first()?, true).ok()??;
    if !missing.has_all_come() || layers::is_whole(repo, &commit) {
        return None;
    }
    layers::forget_all(repo, references);
    Some(damaged(&commit.parse().ok()?, LACKING))
}

/// libostree's code decides whether the disk is at fault. Everything else counts as the registry's
/// fault, as with an OSTree remote, including a layer that does not match its digest.
fn reason(site: &Site, repo: &Repo, wanted: &FetchImage, error: &anyhow::Error) -> Reason {
    eprintln!("ostree-ext: {}", veiled(&format!("{error:#}")));
    let mut links = error.chain();
    let ours = links.find_map(|link| link.downcast_ref::<glib::Error>());
    let no_room = ours.and_then(|error| why::no_room(site, repo, error));
    no_room.unwrap_or_else(|| away(wanted, words::of_chain(wanted, error)))
}
