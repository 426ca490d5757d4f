//! The objects that an import brought. ostree-ext takes every object from the layer that begins
//! with the commit, also those that the commit does not have, and records only the commit.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ostree_ext::gio;
use ostree_ext::ostree::{ObjectType, Repo};

const NEVER: Option<&gio::Cancellable> = None;

/// Below the physical root.
const OBJECTS: &str = "ostree/repo/objects";

/// The kinds of objects, with the ending of their files' names.
const KINDS: [(ObjectType, &str); 4] = [
    (ObjectType::File, "file"),
    (ObjectType::DirTree, "dirtree"),
    (ObjectType::DirMeta, "dirmeta"),
    (ObjectType::Commit, "commit"),
];

/// One object: its kind's ending, and its checksum.
type Object = (&'static str, [u8; 32]);

/// The objects that were there before an import.
pub struct Before {
    folder: PathBuf,
    objects: HashSet<Object>,
}

impl Before {
    /// Looks at the disk.
    ///
    /// # Errors
    /// The repository cannot be read.
    pub fn see(sysroot: &Path) -> io::Result<Self> {
        let folder = sysroot.join(OBJECTS);
        let objects = all(&folder)?.collect();
        Ok(Self { folder, objects })
    }

    /// An object that came since and that none of these commits has, by its checksum.
    ///
    /// # Errors
    /// The repository cannot be read.
    pub fn stranger<'a>(
        &self,
        repo: &Repo,
        commits: impl IntoIterator<Item = &'a str>,
    ) -> io::Result<Option<String>> {
        let own: HashSet<Object> = commits
            .into_iter()
            .flat_map(|commit| reached(repo, commit))
            .collect();
        let is_strange = |object: &Object| !self.objects.contains(object) && !own.contains(object);
        let mut now = all(&self.folder)?;
        Ok(now.find(is_strange).map(|(_, sum)| hex::encode(sum)))
    }
}

/// What a commit has, itself included.
fn reached(repo: &Repo, commit: &str) -> Vec<Object> {
    let objects = repo.traverse_commit(commit, 0, NEVER).unwrap_or_default();
    let found = objects.iter().filter_map(|object| {
        let kind = |(kind, _): &&(ObjectType, &str)| *kind == object.object_type();
        let (_, ending) = KINDS.iter().find(kind)?;
        Some((*ending, sum(object.checksum())?))
    });
    found.collect()
}

/// The objects below this folder, which has a folder for the first two digits of each.
fn all(folder: &Path) -> io::Result<impl Iterator<Item = Object>> {
    let folders = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let objects = folders.into_iter().flat_map(|folder| {
        let begin = folder.file_name().to_string_lossy().into_owned();
        let files = fs::read_dir(folder.path()).into_iter().flatten().flatten();
        files.filter_map(move |file| object(&begin, &file.file_name().to_string_lossy()))
    });
    Ok(objects)
}

/// Signatures, and what is being written, are no objects.
fn object(begin: &str, name: &str) -> Option<Object> {
    let (end, kind) = name.split_once('.')?;
    // Those of an archive repository are compressed.
    let kind = if kind == "filez" { "file" } else { kind };
    let (_, ending) = KINDS.iter().find(|(_, ending)| *ending == kind)?;
    Some((ending, sum(&format!("{begin}{end}"))?))
}

fn sum(digits: &str) -> Option<[u8; 32]> {
    hex::decode(digits).ok()?.try_into().ok()
}
