//! Pulls a commit, checks its signature as the remote's configuration says, and holds it by a ref of ours.
//! Nothing else in the repository changes: the remote's own refs stay as they were.

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

/// Ticks of libostree's progress timer, in milliseconds.
const TICK: u32 = 250;
/// Connection failures that the fetcher retries by itself before we hear of them.
const RETRIES: u32 = 3;

/// Fetches.
///
/// # Errors
/// The reason, told apart by type: see [`why`].
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
        // One that came now was checked before it was written (ostree-repo-pull.c, `ostree_verify_unwritten_commit`), and gpg is slow to start.
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

/// Holds a commit against pruning, and has it on the disk.
///
/// # Errors
/// When libostree cannot write.
pub fn hold(site: &Site, repo: &Repo, commit: &Digest) -> Result<(), Reason> {
    repo.set_ref_immediate(None, names::TARGET_REF, Some(commit.as_str()), site.never())
        .map_err(|error| site.failed(&error))?;
    // libostree flushes the objects and leaves the ref to chance; the record will say that the commit is held.
    write::flush(&site.path).map_err(|error| site.broken(error))
}

/// The commit that is asked for, once that it may be asked for is checked.
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

/// Fetches of a commit what lies at these paths, its signature checked; without any the commit's own object alone. The rest
/// is left out, and libostree notes so.
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

/// Fetches the rest of a commit that is there in parts.
///
/// # Errors
/// As [`run`].
pub fn rest(site: &Site, repo: &Repo, wanted: &Fetch, commit: &Digest) -> Result<(), Reason> {
    if !complete(repo, commit) {
        pull(site, repo, wanted, Asked::Commit(commit))?;
    }
    Ok(())
}

/// Whether nothing of it is missing, as far as libostree has noted.
pub fn complete(repo: &Repo, commit: &Digest) -> bool {
    repo.load_commit(commit.as_str())
        .is_ok_and(|(_, state)| !state.contains(RepoCommitState::PARTIAL))
}

/// Asks the remote which commit the branch is at, and leaves the local copy of the branch as it was.
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

/// libostree makes a folder for each part of a branch's name, and leaves them when the branch goes.
fn forget_folders(site: &Site, wanted: &Fetch) {
    let remotes = site.path.join("ostree/repo/refs/remotes");
    let branch = Path::new(&wanted.remote).join(&wanted.reference);
    let folders = branch.ancestors().skip(1);
    for folder in folders.filter(|folder| *folder != Path::new("")) {
        // One in which something else lies stays, and so do those above it.
        if fs::remove_dir(remotes.join(folder)).is_err() {
            break;
        }
    }
}

fn pull(site: &Site, repo: &Repo, wanted: &Fetch, asked: Asked<'_>) -> Result<u64, Reason> {
    let (refs, flags) = match asked {
        Asked::Branch => ([wanted.reference.as_str()], RepoPullFlags::COMMIT_ONLY),
        Asked::Parts(commit, []) => ([commit.as_str()], RepoPullFlags::COMMIT_ONLY),
        Asked::Parts(commit, _) | Asked::Commit(commit) => ([commit.as_str()], RepoPullFlags::NONE),
    };
    let options = glib::VariantDict::new(None);
    options.insert_value("refs", &refs.as_slice().to_variant());
    if let Asked::Parts(_, paths @ [_, ..]) = asked {
        options.insert_value("subdirs", &paths.to_variant());
        // A delta brings the whole.
        options.insert_value("disable-static-deltas", &true.to_variant());
    }
    // The option is a signed 32-bit flag word in libostree's documentation of ostree_repo_pull_with_options.
    options.insert_value("flags", &(flags.bits() as i32).to_variant());
    options.insert_value("update-frequency", &TICK.to_variant());
    options.insert_value("n-network-retries", &RETRIES.to_variant());
    let progress = AsyncProgress::new();
    // Resolving a branch is one small file: its 100 percent are none of the image's.
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

/// A commit that names its branches must name this one, else an old image of another kind could be slipped in
/// under a valid signature. Commits that name none are left to the signature.
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
