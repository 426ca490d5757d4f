//! Reads every object of one commit and compares it with its name.

use std::ops::Range;

use ostree_ext::gio;
use ostree_ext::glib;
use ostree_ext::ostree::{ObjectName, ObjectType, Repo};
use upgrade::Reason;
use upgrade::id::Digest;

use crate::site::Site;
use crate::verify::content;

/// The objects of a commit.
pub struct Objects<'a> {
    site: &'a Site,
    repo: Repo,
    commit: &'a Digest,
    /// Kind and name; the commit, folders and their modes before the files.
    all: Vec<(ObjectType, String)>,
    /// How many are not files.
    lists: usize,
}

impl<'a> Objects<'a> {
    /// Finds the objects.
    ///
    /// # Errors
    /// [`Reason::Damaged`] if an object that lists others cannot be read.
    pub fn of(site: &'a Site, commit: &'a Digest) -> Result<Self, Reason> {
        let repo = site.sysroot.repo();
        let found = repo.traverse_commit(commit.as_str(), 0, Some(&site.stop));
        let found = found.map_err(|error| judge(site, &repo, commit, &error))?;
        let named = |object: &ObjectName| (object.object_type(), object.checksum().to_owned());
        let (files, mut all): (Vec<_>, Vec<_>) = found
            .iter()
            .map(named)
            .partition(|(kind, _)| *kind == ObjectType::File);
        let lists = all.len();
        all.extend(files);
        Ok(Self {
            site,
            repo,
            commit,
            all,
            lists,
        })
    }

    /// Checks all objects that are not files. Removes a bad object and marks the commit partial, so
    /// that the next fetch brings it again. Deployments hold their own links to the files and lose
    /// nothing.
    ///
    /// # Errors
    /// [`Reason::Damaged`], naming the first bad object.
    pub fn check_lists(&self) -> Result<(), Reason> {
        self.check(0..self.lists, |_| {})
    }

    /// Checks the files in the same way. Calls `good` for each right after its check.
    ///
    /// # Errors
    /// As [`Self::check_lists`].
    pub fn check_files(&self, good: impl Fn(&str)) -> Result<(), Reason> {
        self.check(self.lists..self.all.len(), good)
    }

    fn check(&self, which: Range<usize>, good: impl Fn(&str)) -> Result<(), Reason> {
        let all = self.all.len();
        let from = which.start;
        for (done, (kind, checksum)) in (from..).zip(&self.all[which]) {
            object(self.site, &self.repo, self.commit, (*kind, checksum))?;
            good(checksum);
            let percent = u8::try_from(done * 97 / all).unwrap_or(97);
            self.site
                .report
                .progress(percent, format!("checking objects {done} of {all}"));
        }
        Ok(())
    }
}

fn object(
    site: &Site,
    repo: &Repo,
    commit: &Digest,
    (kind, checksum): (ObjectType, &str),
) -> Result<(), Reason> {
    let checked = if kind == ObjectType::File {
        content::check(repo, checksum, &site.stop)
    } else {
        repo.fsck_object(kind, checksum, Some(&site.stop))
    };
    checked.map_err(|error| {
        drop_object(repo, kind, checksum, &error);
        judge(site, repo, commit, &error)
    })
}

fn judge(site: &Site, repo: &Repo, commit: &Digest, error: &glib::Error) -> Reason {
    if error.matches(gio::IOErrorEnum::Cancelled) {
        return site.stopped();
    }
    // This is only a hint for the next fetch, which would otherwise take the commit for complete.
    let _ = repo.mark_commit_partial(commit.as_str(), true);
    damaged(commit, error.message())
}

fn drop_object(repo: &Repo, kind: ObjectType, checksum: &str, error: &glib::Error) {
    if !error.matches(gio::IOErrorEnum::Cancelled) {
        // If it cannot be removed, the next verify reports it again.
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
