//! Reads every object of one commit and compares it with its name.

use ostree_ext::gio;
use ostree_ext::glib;
use ostree_ext::ostree::{ObjectType, Repo};
use upgrade::Reason;
use upgrade::id::Digest;

use crate::site::Site;

/// Checks all objects. What is bad is removed and the commit marked partial, so that the next fetch brings it
/// again; deployments hold their own links to the files and lose nothing by that.
///
/// # Errors
/// [`Reason::Damaged`], naming the first bad object.
pub fn run(site: &Site, repo: &Repo, commit: &Digest) -> Result<(), Reason> {
    let objects = match repo.traverse_commit(commit.as_str(), 0, Some(&site.stop)) {
        Ok(objects) => objects,
        Err(error) => return Err(judge(site, repo, commit, &error)),
    };
    let all = objects.len();
    for (done, object) in objects.iter().enumerate() {
        self::object(
            site,
            repo,
            commit,
            (object.object_type(), object.checksum()),
        )?;
        let percent = u8::try_from(done * 97 / all).unwrap_or(97);
        site.report
            .progress(percent, format!("checking objects {done} of {all}"));
    }
    Ok(())
}

/// Checks one object, in the same way.
///
/// # Errors
/// [`Reason::Damaged`].
pub fn object(
    site: &Site,
    repo: &Repo,
    commit: &Digest,
    (kind, checksum): (ObjectType, &str),
) -> Result<(), Reason> {
    repo.fsck_object(kind, checksum, Some(&site.stop))
        .map_err(|error| {
            drop_object(repo, kind, checksum, &error);
            judge(site, repo, commit, &error)
        })
}

fn judge(site: &Site, repo: &Repo, commit: &Digest, error: &glib::Error) -> Reason {
    if error.matches(gio::IOErrorEnum::Cancelled) {
        return site.stopped();
    }
    // Only a hint for the next fetch: without it that fetch would take the commit for complete.
    let _ = repo.mark_commit_partial(commit.as_str(), true);
    damaged(commit, error.message())
}

fn drop_object(repo: &Repo, kind: ObjectType, checksum: &str, error: &glib::Error) {
    if !error.matches(gio::IOErrorEnum::Cancelled) {
        // If it cannot be removed the next verify says so again.
        let _ = repo.delete_object(kind, checksum, None::<&gio::Cancellable>);
    }
}

/// The reason for a damaged commit.
pub fn damaged(commit: &Digest, detail: &str) -> Reason {
    Reason::Damaged {
        commit: commit.to_string(),
        detail: detail.to_owned(),
    }
}
