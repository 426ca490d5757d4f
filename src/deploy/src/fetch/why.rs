//! Why a pull failed, by error domains and codes and by the repository's content, never by the
//! text.

use host::redact::veiled;
use ostree_ext::ostree::{Repo, RepoCommitState};
use ostree_ext::{gio, glib};
use upgrade::Reason;
use upgrade::id::Digest;

use super::{branches, signature};
use crate::args::Fetch;
use crate::site::Site;

/// If less than this many bytes remain above the repository's reserve, a pull counts as failed for
/// lack of room. libostree refuses the object that would use the reserve, so less than one large
/// file remains.
const SLACK: u64 = 64 << 20;

/// What the remote was asked for.
#[derive(Clone, Copy)]
pub enum Asked<'a> {
    /// The head of the branch.
    Branch,
    /// A commit and its content at these paths.
    Parts(&'a Digest, &'a [String]),
    /// A commit and all that belongs to it.
    Commit(&'a Digest),
}

/// Finds the reason.
pub fn reason(
    site: &Site,
    repo: &Repo,
    wanted: &Fetch,
    asked: Asked<'_>,
    error: &glib::Error,
) -> Reason {
    eprintln!("libostree: {}", veiled(&error.to_string()));
    let commit = match asked {
        Asked::Branch => &wanted.reference,
        Asked::Parts(commit, _) | Asked::Commit(commit) => commit.as_str(),
    };
    if error.matches(gio::IOErrorEnum::Cancelled) {
        return site.stopped();
    }
    if let Some(reason) = signature::reason(&wanted.remote, commit, error) {
        return reason;
    }
    if let Some(reason) = no_room(site, repo, error) {
        return reason;
    }
    let missing = error.matches(gio::IOErrorEnum::NotFound);
    let remote = wanted.remote.clone();
    match asked {
        Asked::Branch if is_unknown(repo, wanted, missing) => Reason::NoSuchRef {
            remote,
            reference: wanted.reference.clone(),
        },
        // The commit arrived but an object below it did not: the remote is broken, not the request.
        Asked::Parts(commit, _) | Asked::Commit(commit) if missing && !begun(repo, commit) => {
            Reason::NoSuchCommit {
                remote,
                commit: commit.to_string(),
            }
        }
        Asked::Branch | Asked::Parts(..) | Asked::Commit(_) => away(remote, error),
    }
}

/// libostree has no error code for a branch that is not in the remote's summary, so this reads the
/// summary. libostree also has the same code for `missing` and for forbidden
/// (ostree-fetcher-util.c, `_ostree_fetcher_http_status_code_to_io_error`): a listed branch is
/// forbidden. Without a summary, it remains unknown.
fn is_unknown(repo: &Repo, wanted: &Fetch, missing: bool) -> bool {
    let listed = branches::of(repo, &wanted.remote);
    listed.map_or(missing, |listed| !listed.contains_key(&wanted.reference))
}

/// Also for an object that does not match its name. For a wrong checksum libostree has the same
/// code as for a refused connection, `G_IO_ERROR_FAILED` (ostree-core.c,
/// `_ostree_compare_object_checksum`; ostree-repo-pull.c, `on_metadata_written`;
/// ostree-fetcher-curl.c, `check_multi_info`). The fix is the same, and libostree's text in the
/// detail says which it was.
fn away(remote: String, error: &glib::Error) -> Reason {
    Reason::RemoteAway {
        remote,
        detail: veiled(error.message()),
    }
}

fn begun(repo: &Repo, commit: &Digest) -> bool {
    repo.load_commit(commit.as_str())
        .is_ok_and(|(_, state)| state.contains(RepoCommitState::PARTIAL))
}

/// The disk is full, or the repository's own reserve (`min-free-space-percent`) is reached.
/// libostree has no error code for the latter, so the numbers decide.
pub fn no_room(site: &Site, repo: &Repo, error: &glib::Error) -> Option<Reason> {
    // Blocks reserved for root count, as libostree counts them for root (ostree-repo-commit.c,
    // `ostree_repo_prepare_transaction`).
    let free = host::room::free(&site.path).ok()?;
    let reserve = repo.min_free_space_bytes().unwrap_or(0);
    let short = error.matches(gio::IOErrorEnum::NoSpace)
        || (error.matches(gio::IOErrorEnum::Failed) && free < reserve + SLACK);
    let need = reserve + SLACK;
    let out_of_inodes = || super::room::too_few_inodes(site);
    short.then(|| {
        out_of_inodes().unwrap_or_else(|| Reason::NoRoom {
            place: "the root file system".to_owned(),
            need,
            free,
            inodes: false,
        })
    })
}
