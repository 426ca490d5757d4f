//! Brings the OSTree commit out of a container image: from a registry, or from an archive at a site without a network.
//!
//! skopeo speaks to the registry, so mirrors, certificates and credentials are those of the node's usual files. What comes is the commit that was
//! wrapped, under its own checksum: signatures inside stay good, and it is the same commit that an OSTree remote would give. Each layer that has
//! come whole stays, for the run after one that was cut off and for the next image.

mod apart;
mod beginning;
mod cover;
mod credentials;
mod early;
pub mod held;
mod import;
pub mod layers;
mod look;
mod skopeo;
pub mod unpacked;
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

/// How long a thread that is in libostree is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Fetches.
///
/// # Errors
/// The reason, told apart by what was asked for and by type, never by the text of another program.
pub fn run(site: &Site, wanted: &FetchImage) -> Result<Done, Reason> {
    let got = get(site, wanted).inspect_err(|reason| {
        if is_refusal(reason) {
            unfinished::clear_or_tell(site);
        }
    });
    let (commit, bytes) = got?;
    fetch::hold(site, &site.sysroot.repo(), &commit)?;
    unfinished::settle(site)?;
    Ok(Done::Fetched { commit, bytes })
}

/// Whether another try would end in the same way. Then careen-deploy removes at once what it brought; otherwise the next try uses it.
fn is_refusal(reason: &Reason) -> bool {
    match reason.disposition() {
        Disposition::RollBack | Disposition::Halt => true,
        // The next try brings every layer of such an image once more.
        Disposition::Retry => matches!(reason, Reason::Damaged { .. }),
    }
}

/// Brings the commit, checked, and says how many bytes came for it. Its image's ref holds it.
///
/// # Errors
/// As [`run`]. What was brought is still there.
pub fn get(site: &Site, wanted: &FetchImage) -> Result<(Digest, u64), Reason> {
    let repo = site.sysroot.repo();
    // What a run that was cut off has left.
    unpacked::clear(site)?;
    let skopeo = Skopeo::new(site, wanted);
    let cover = cover::of(site, &repo, wanted, &skopeo)?;
    let here = held::commit_of(site, &wanted.image)?.filter(|held| fetch::complete(&repo, held));
    let (commit, bytes) = match here {
        // Signatures of containers are no part of the commit: skopeo must look at them again.
        Some(commit) if cover != Cover::Container => (commit, 0),
        here => bring(site, wanted, (&skopeo, &cover), here)?,
    };
    if let Err(reason) = check(&repo, wanted, &cover, &commit) {
        // Nobody asks to undo this commit.
        if gc::is_gone(site, &commit) {
            unfinished::note(site)?;
        }
        return Err(reason);
    }
    Ok((commit, bytes))
}

/// Whether the commit that came in this image is signed still as it must be. What skopeo checks is
/// no part of the commit, so of the container policy this asks only whether it demands a signature.
///
/// # Errors
/// As [`run`].
pub fn is_vouched_for(site: &Site, wanted: &FetchImage) -> Result<(), Reason> {
    let repo = site.sysroot.repo();
    let cover = cover::of(site, &repo, wanted, &Skopeo::new(site, wanted))?;
    wanted
        .commit
        .as_ref()
        .map_or(Ok(()), |commit| check(&repo, wanted, &cover, commit))
}

/// Whether it is the requested commit, and signed as it must be.
fn check(repo: &Repo, wanted: &FetchImage, cover: &Cover, commit: &Digest) -> Result<(), Reason> {
    look::is_asked_for(wanted, commit)?;
    match cover {
        Cover::Keyring(remote) => signature::check(repo, remote, commit),
        Cover::Container | Cover::Nobody => Ok(()),
    }
}

/// Asks for the image and brings what is missing of it; `here` is its commit, when all of it is here.
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
        // The skopeo that was asked may still be at the layer whose beginning was read.
        children::end_all();
        match here.filter(|commit| *commit == judged.commit) {
            Some(commit) => Ok((commit, 0)),
            None => {
                unpacked::anew(site, wanted)?;
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
    // Without a skopeo a thread that is still in libostree ends, and with it what it was writing.
    unpacked::give_back(site);
    runtime.shutdown_timeout(PATIENCE);
    brought
}
