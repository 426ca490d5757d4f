//! Compares an image with the running system, and fetches the parts that this needs.

use ostree_ext::glib;
use ostree_ext::ostree::{self, ObjectType, Repo};
use upgrade::deploy::Done;
use upgrade::id::Digest;
use upgrade::plan::{Found, Package};
use upgrade::{Reason, names};

use super::{conflicts, files, packages};
use crate::args::Fetch;
use crate::deploy::{accounts, etc};
use crate::fetch;
use crate::site::Site;
use crate::verify::image::Tree;
use crate::verify::{facts, fsck, lacks, room};

/// The folder of kernels in an image.
const MODULES: &str = "usr/lib/modules";

/// The answer of a plan.
pub(super) fn planned(found: Found) -> Done {
    Done::Planned(Box::new(found))
}

/// Compares the image with the running system. `wanted` is `None` if all of the image is here.
///
/// # Errors
/// A part of it is not available, or cannot be read.
pub(super) fn look(
    site: &Site,
    repo: &Repo,
    wanted: Option<&Fetch>,
    commit: &Digest,
) -> Result<Found, Reason> {
    let current = site
        .current()
        .ok_or_else(|| site.broken("no deployment exists to compare with"))?;
    let source = Source {
        site,
        repo,
        wanted,
        commit,
    };
    source.bring(&[])?;
    // Compute this before the parts come, because those must be fetched too.
    let fetch_bytes = fetch_bytes(repo, commit);
    source.bring(&first_parts())?;
    source.bring_kernels()?;
    source.bring(&lacks::more_parts(&Tree::open(site, commit)?)?)?;
    let tree = Tree::open(site, commit)?;
    let before = Tree::open(site, &site.facts(&current)?.digest)?;
    let variant = commit_of(repo, commit)?;
    let kernel = tree.kernel();
    let folder = site.folder(&current);
    site.report.progress(90, "comparing both systems");
    let packages = source.packages(&before, &tree)?;
    // With the whole image here, its folders can be counted.
    let counted = if fetch::complete(repo, commit) {
        &tree
    } else {
        &before
    };
    Ok(Found {
        facts: facts(site, commit, &variant, &tree, counted)?,
        kernel: before.kernel().map(|kernel| kernel.version),
        packages,
        fetch_bytes,
        etc_conflicts: conflicts::of(site, &folder, &before, &tree)?,
        etc_refusal: etc::check(site, &folder, &tree)
            .and_then(|()| accounts::check(&folder, &tree))
            .err(),
        accounts: accounts::Added::by(&folder, &tree).told(),
        kept_goes: !room::boot_now(site, &tree, kernel.as_ref())?.fits()
            && !room::makes_way(site, commit).is_empty(),
    })
}

fn first_parts() -> Vec<String> {
    let plain = [names::IMAGE_INFO, "usr/etc", "etc"];
    let lists = packages::PLACES.iter().copied();
    // Nothing has such a name. This fetches the list of the folder's own entries.
    let modules = format!("{MODULES}/-");
    let all = plain.into_iter().chain(lists).map(str::to_owned);
    all.chain([modules])
        .chain(lacks::first_parts())
        .map(|path| format!("/{path}"))
        .collect()
}

/// The source of the image's parts.
struct Source<'a> {
    site: &'a Site,
    repo: &'a Repo,
    /// `None` if all of it is already here.
    wanted: Option<&'a Fetch>,
    commit: &'a Digest,
}

impl Source<'_> {
    fn bring(&self, paths: &[String]) -> Result<(), Reason> {
        let Some(wanted) = self.wanted else {
            return Ok(());
        };
        fetch::parts(self.site, self.repo, wanted, self.commit, paths)?;
        let (name, commit) = (names::PLAN_REF, self.commit.as_str());
        self.repo
            .set_ref_immediate(None, name, Some(commit), self.site.never())
            .map_err(|error| self.site.failed(&error))
    }

    /// The image's kernels, by name. Their length decides whether /boot has room.
    fn bring_kernels(&self) -> Result<(), Reason> {
        let image = Tree::open(self.site, self.commit)?.folder()?;
        let Some(modules) = image.folder(MODULES) else {
            return Ok(());
        };
        let paths = |version: &str| {
            ["vmlinuz", "initramfs.img"].map(|file| format!("/{MODULES}/{version}/{file}"))
        };
        let paths: Vec<_> = modules.folders().flat_map(paths).collect();
        if paths.is_empty() {
            return Ok(());
        }
        self.bring(&paths)
    }

    fn packages(&self, before: &Tree, after: &Tree) -> Result<Vec<Package>, Reason> {
        match (packages::list(before), packages::list(after)) {
            (Some(before), Some(after)) => Ok(packages::changes(&before, &after)),
            (None, _) | (_, None) => {
                if let Some(wanted) = self.wanted {
                    fetch::rest(self.site, self.repo, wanted, self.commit)?;
                }
                files::changes(before, after)
            }
        }
    }
}

/// The size of what is missing here, if the commit says how large its objects are on the remote
/// (`ostree commit --generate-sizes`).
fn fetch_bytes(repo: &Repo, commit: &Digest) -> Option<u64> {
    let variant = repo
        .load_variant(ObjectType::Commit, commit.as_str())
        .ok()?;
    let sizes = ostree::commit_get_object_sizes(&variant).ok()?;
    let never = None::<&ostree_ext::gio::Cancellable>;
    let missing = sizes.iter().filter(|entry| {
        let here = repo.has_object(entry.objtype(), &entry.checksum(), never);
        !here.unwrap_or(false)
    });
    let sizes = missing.map(ostree::CommitSizesEntry::archived);
    Some(sizes.fold(0, u64::saturating_add))
}

fn commit_of(repo: &Repo, commit: &Digest) -> Result<glib::Variant, Reason> {
    let loaded = repo.load_commit(commit.as_str());
    let (variant, _) = loaded.map_err(|error| fsck::damaged(commit, error.message()))?;
    Ok(variant)
}
