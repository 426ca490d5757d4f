//! Pulls a commit, verifies its signature as the remote's configuration requires, and holds it by
//! one of Careen's refs. Nothing else in the repository changes: the remote's own refs stay as they
//! were.

pub mod asked;
pub mod binding;
mod branches;
pub mod progress;
pub mod room;
pub mod signature;
pub mod why;

use std::fs;
use std::path::Path;

use ostree_ext::glib;
use ostree_ext::glib::prelude::*;
use ostree_ext::ostree::{AsyncProgress, Repo, RepoCommitState, RepoPullFlags};
use upgrade::deploy::Done;
use upgrade::id::Digest;
use upgrade::{Reason, names};

use crate::args::Fetch;
use crate::deploy::write;
use crate::site::Site;
use why::Asked;

/// The interval of libostree's progress timer, in milliseconds.
const TICK: u32 = 250;
/// Connection failures that the fetcher retries before it reports one.
const RETRIES: u32 = 3;

/// Fetches.
///
/// # Errors
/// The reason, distinguished by type: see [`why`].
pub fn run(site: &Site, wanted: &Fetch) -> Result<Done, Reason> {
    let repo = site.sysroot.repo();
    let mut fetched = 0;
    let commit = pin(site, &repo, wanted, &mut fetched)?;
    let here = repo.load_commit(commit.as_str()).is_ok();
    let good = || signature::check(&repo, &wanted.remote, &commit);
    if here && complete(&repo, &commit) && good().is_ok() {
        site.report.progress(100, "fetched already");
    } else {
        fetched += pull(site, &repo, wanted, Asked::Commit(&commit))?;
        // A commit that came now was verified before it was written (ostree-repo-pull.c,
        // `ostree_verify_unwritten_commit`), and gpg is slow to start.
        if here {
            good()?;
        }
    }
    on_branch(&repo, wanted, &commit)?;
    hold(site, &repo, &commit)?;
    Ok(Done::Fetched {
        commit,
        bytes: fetched,
    })
}

/// Protects a commit from pruning, and flushes it to the disk.
///
/// # Errors
/// libostree cannot write.
pub fn hold(site: &Site, repo: &Repo, commit: &Digest) -> Result<(), Reason> {
    repo.set_ref_immediate(None, names::TARGET_REF, Some(commit.as_str()), site.never())
        .map_err(|error| site.failed(&error))?;
    // libostree flushes the objects but not the ref, and the record will say that the commit is
    // held.
    write::flush(&site.path).map_err(|error| site.broken(error))
}

/// The requested commit, once it is verified that it may be requested.
///
/// # Errors
/// As [`run`].
pub fn pin(site: &Site, repo: &Repo, wanted: &Fetch, fetched: &mut u64) -> Result<Digest, Reason> {
    asked::check(site, repo, wanted)?;
    match &wanted.commit {
        Some(commit) => Ok(commit.clone()),
        None => resolve(site, repo, wanted, fetched),
    }
}

/// Fetches the parts of a commit at these paths, and verifies its signature. Without paths, fetches
/// only the commit's own object. The rest is left out, and libostree notes that.
///
/// # Errors
/// As [`run`].
pub fn parts(
    site: &Site,
    repo: &Repo,
    wanted: &Fetch,
    commit: &Digest,
    paths: &[String],
) -> Result<(), Reason> {
    if !complete(repo, commit) {
        pull(site, repo, wanted, Asked::Parts(commit, paths))?;
    }
    signature::check(repo, &wanted.remote, commit)?;
    on_branch(repo, wanted, commit)
}

/// Fetches the rest of a commit of which parts are present.
///
/// # Errors
/// As [`run`].
pub fn rest(site: &Site, repo: &Repo, wanted: &Fetch, commit: &Digest) -> Result<(), Reason> {
    if !complete(repo, commit) {
        pull(site, repo, wanted, Asked::Commit(commit))?;
    }
    Ok(())
}

/// Whether the commit is complete, as far as libostree has noted.
pub fn complete(repo: &Repo, commit: &Digest) -> bool {
    repo.load_commit(commit.as_str())
        .is_ok_and(|(_, state)| !state.contains(RepoCommitState::PARTIAL))
}

/// Asks the remote which commit the branch is at, and leaves the local copy of the branch as it
/// was.
fn resolve(site: &Site, repo: &Repo, wanted: &Fetch, fetched: &mut u64) -> Result<Digest, Reason> {
    let (remote, branch) = (wanted.remote.as_str(), wanted.reference.as_str());
    let failed = |error| site.failed(&error);
    let refspec = format!("{remote}:{branch}");
    let before = repo.resolve_rev(&refspec, true).map_err(failed)?;
    *fetched += pull(site, repo, wanted, Asked::Branch)?;
    let commit = repo.require_rev(&refspec).map_err(failed)?;
    repo.set_ref_immediate(Some(remote), branch, before.as_deref(), site.never())
        .map_err(failed)?;
    forget_folders(site, wanted);
    commit
        .parse()
        .map_err(|_| site.broken("the remote's answer is not a commit"))
}

/// libostree makes a folder for each part of a branch's name, and leaves the folders when the
/// branch is removed.
fn forget_folders(site: &Site, wanted: &Fetch) {
    let remotes = site.path.join("ostree/repo/refs/remotes");
    let branch = Path::new(&wanted.remote).join(&wanted.reference);
    let folders = branch.ancestors().skip(1);
    for folder in folders.filter(|folder| *folder != Path::new("")) {
        // A folder with other content stays, and so do its parents.
        if fs::remove_dir(remotes.join(folder)).is_err() {
            break;
        }
    }
}

fn pull(site: &Site, repo: &Repo, wanted: &Fetch, asked: Asked<'_>) -> Result<u64, Reason> {
    room::too_few_inodes(site).map_or(Ok(()), Err)?;
    let (refs, flags) = match asked {
        Asked::Branch => ([wanted.reference.as_str()], RepoPullFlags::COMMIT_ONLY),
        Asked::Parts(commit, []) => ([commit.as_str()], RepoPullFlags::COMMIT_ONLY),
        Asked::Parts(commit, _) | Asked::Commit(commit) => ([commit.as_str()], RepoPullFlags::NONE),
    };
    let options = glib::VariantDict::new(None);
    options.insert_value("refs", &refs.as_slice().to_variant());
    if let Asked::Parts(_, paths @ [_, ..]) = asked {
        options.insert_value("subdirs", &paths.to_variant());
    }
    // A delta of parts would fetch the whole image.
    if matches!(asked, Asked::Parts(_, [_, ..])) || !signs_its_summary(repo, &wanted.remote) {
        options.insert_value("disable-static-deltas", &true.to_variant());
    }
    // The option is a signed 32-bit flag word in libostree's documentation of
    // ostree_repo_pull_with_options.
    options.insert_value("flags", &(flags.bits() as i32).to_variant());
    options.insert_value("update-frequency", &TICK.to_variant());
    options.insert_value("n-network-retries", &RETRIES.to_variant());
    let progress = AsyncProgress::new();
    // Resolving a branch is one small file. Its progress is not the image's.
    if !matches!(asked, Asked::Branch) {
        progress::forward(&progress, &site.report, room::Room::of(site, repo));
    }
    let pulled = repo.pull_with_options(
        &wanted.remote,
        &options.end(),
        Some(&progress),
        Some(&site.stop),
    );
    progress.finish();
    pulled.map_err(|error| why::reason(site, repo, wanted, asked, &error))?;
    Ok(progress.uint64("bytes-transferred"))
}

/// Whether the remote's summary must be signed. The summary holds the checksums of the static
/// deltas. Without a signature, anybody on the way to the remote chooses what libostree's readers
/// of deltas (xz, bspatch) read as root.
fn signs_its_summary(repo: &Repo, remote: &str) -> bool {
    let option = "gpg-verify-summary";
    let signed = repo.remote_boolean_option(remote, option, false);
    signed.unwrap_or(false)
}

/// A commit that names its branches must name this one. Otherwise an old image of another kind
/// could pass under a valid signature. For commits that name none, only the signature counts.
fn on_branch(repo: &Repo, wanted: &Fetch, commit: &Digest) -> Result<(), Reason> {
    let elsewhere = || Reason::NoSuchCommit {
        remote: wanted.remote.clone(),
        commit: format!("{commit} on ref {:?}", wanted.reference),
    };
    let (variant, _) = repo.load_commit(commit.as_str()).map_err(|_| elsewhere())?;
    match binding::of(&variant) {
        Some(branches) if !branches.contains(&wanted.reference) => Err(elsewhere()),
        _ => Ok(()),
    }
}
