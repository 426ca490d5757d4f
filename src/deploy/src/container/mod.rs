//! Extracts the OSTree commit from a container image: from a registry, or from an archive at a site
//! without a network.
//!
//! skopeo talks to the registry, so mirrors, certificates and credentials come from the node's
//! usual files. The result is the commit that was wrapped, under its own checksum. Signatures
//! inside stay valid, and an OSTree remote would deliver the same commit. Each complete layer
//! stays, for a retry after an interruption and for the next image.

mod apart;
mod beginning;
mod came;
mod cover;
mod credentials;
mod early;
pub mod held;
mod import;
pub mod layers;
mod look;
mod outline;
mod plain;
mod raw;
mod refusal;
mod skopeo;
pub mod unpacked;
mod verdict;
mod words;

use std::sync::Arc;
use std::time::Duration;

use ostree_ext::gio::prelude::CancellableExtManual;
use ostree_ext::ostree::Repo;
use tokio::runtime::Builder;
use tokio::sync::Notify;
use upgrade::deploy::Done;
use upgrade::id::Digest;
use upgrade::{Disposition, Reason};

use crate::args::FetchImage;
use crate::children;
use crate::fetch::{self, signature};
use crate::gc::{self, unfinished};
use crate::site::Site;
use cover::Cover;
use skopeo::Skopeo;

/// How long to wait for a thread that is inside libostree.
const PATIENCE: Duration = Duration::from_secs(5);

/// Fetches.
///
/// # Errors
/// The reason, distinguished by the request and by type, never by the text of another program.
pub fn run(site: &Site, wanted: &FetchImage) -> Result<Done, Reason> {
    // As it is before skopeo reads it.
    let sum = verdict::sum(wanted, &Skopeo::new(site, wanted));
    let got = get(site, wanted).inspect_err(|reason| {
        if is_refusal(reason) {
            unfinished::clear_or_tell(site);
        }
    });
    let (commit, bytes) = got?;
    if verdict::is_by_skopeo(wanted) {
        verdict::note(site, &commit, &sum)?;
    }
    fetch::hold(site, &site.sysroot.repo(), &commit)?;
    unfinished::settle(site)?;
    Ok(Done::Fetched { commit, bytes })
}

/// Whether a retry would end in the same way. In that case careen-deploy removes at once what it
/// fetched; otherwise the retry uses it.
fn is_refusal(reason: &Reason) -> bool {
    match reason.disposition() {
        Disposition::RollBack | Disposition::Halt => true,
        // A retry fetches every layer of such an image again.
        Disposition::Retry => matches!(reason, Reason::Damaged { .. }),
    }
}

/// Extracts and verifies the commit, and returns how many bytes were fetched for it. The image's
/// ref holds it.
///
/// # Errors
/// As [`run`]. What was fetched is still there.
pub fn get(site: &Site, wanted: &FetchImage) -> Result<(Digest, u64), Reason> {
    let repo = site.sysroot.repo();
    // What an interrupted run left.
    unpacked::clear(site)?;
    let skopeo = Skopeo::new(site, wanted);
    let cover = cover::of(site, &repo, wanted, &skopeo)?;
    let here = held::commit_of(site, &wanted.image)?.filter(|held| fetch::complete(&repo, held));
    let (commit, bytes) = match here {
        // Signatures of containers are not part of the commit, so skopeo must look at them again.
        Some(commit) if cover != Cover::Container => (commit, 0),
        here => bring(site, wanted, (&skopeo, &cover), here)?,
    };
    if let Err(reason) = check(&repo, wanted, &cover, &commit) {
        // No caller asks to undo this commit.
        if gc::is_gone(site, &commit) {
            unfinished::note(site)?;
        }
        return Err(reason);
    }
    Ok((commit, bytes))
}

/// Checks that the commit of this image is still signed as required. The signature that skopeo
/// verifies is not part of the commit. So skopeo is asked again if the container policy or one of
/// its keys has changed.
///
/// # Errors
/// As [`run`].
pub fn is_vouched_for(site: &Site, wanted: &FetchImage) -> Result<(), Reason> {
    let repo = site.sysroot.repo();
    let cover = cover::of(site, &repo, wanted, &Skopeo::new(site, wanted))?;
    let Some(commit) = &wanted.commit else {
        return Ok(());
    };
    check(&repo, wanted, &cover, commit)?;
    match cover {
        Cover::Container => verdict::renew(site, wanted, commit),
        Cover::Keyring(_) | Cover::Nobody => Ok(()),
    }
}

/// Checks that it is the requested commit, and signed as required.
fn check(repo: &Repo, wanted: &FetchImage, cover: &Cover, commit: &Digest) -> Result<(), Reason> {
    look::is_asked_for(wanted, commit)?;
    match cover {
        Cover::Keyring(remote) => signature::check(repo, remote, commit),
        Cover::Container | Cover::Nobody => Ok(()),
    }
}

/// Requests the image and fetches its missing parts. `here` is its commit if all of it is present.
fn bring(
    site: &Site,
    wanted: &FetchImage,
    (skopeo, cover): (&Skopeo, &Cover),
    here: Option<Digest>,
) -> Result<(Digest, u64), Reason> {
    skopeo::check_version(&wanted.settings).map_err(|error| site.broken(error))?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| site.broken(error))?;
    let work = async {
        let judged = look::at(site, wanted, skopeo, cover).await?;
        // The first skopeo may still be transferring the layer whose beginning was read.
        children::end_all();
        match here.filter(|commit| *commit == judged.commit) {
            Some(commit) => Ok((commit, 0)),
            None => {
                unpacked::make_empty(site, wanted)?;
                import::all(site, wanted, skopeo, &judged).await
            }
        }
    };
    let stopped = Arc::new(Notify::new());
    let told = Arc::clone(&stopped);
    site.stop.connect_cancelled(move |_| told.notify_one());
    let brought = runtime.block_on(async {
        tokio::select! {
            brought = work => brought,
            () = stopped.notified() => Err(site.stopped()),
        }
    });
    // Without a skopeo, a thread that is still in libostree ends, and so does its write.
    unpacked::give_back(site);
    runtime.shutdown_timeout(PATIENCE);
    brought
}
