//! A folder of a commit's tree, read from the object that lists it. This is enough for names and
//! objects, while gio's interface opens each file for its attributes.

use ostree_ext::ostree::{ObjectType, Repo};
use ostree_ext::{gio, glib};

/// Its content, in the order of names. Names that are not UTF-8 are left out.
#[derive(Clone)]
pub struct Folder {
    repo: Repo,
    /// Name and object of each file and link.
    files: Vec<(String, String)>,
    /// Name and object of each folder.
    folders: Vec<(String, String)>,
}

/// An object's name in bytes: a SHA-256.
const CHECKSUM: usize = 32;
/// How many links one path may lead through, as in Linux (path_resolution(7)).
const LINKS: usize = 40;
const NEVER: Option<&gio::Cancellable> = None;

impl Folder {
    /// Reads the object of a folder.
    ///
    /// # Errors
    /// It is missing or no such object.
    pub fn load(repo: &Repo, object: &str) -> Result<Self, glib::Error> {
        // (a(say)a(sayay)): files with their objects, folders with their lists and modes
        // (ostree-core.h, OSTREE_TREE_GVARIANT_FORMAT).
        let lists = repo.load_variant(ObjectType::DirTree, object)?;
        Ok(Self {
            repo: repo.clone(),
            files: named(&lists.child_value(0)),
            folders: named(&lists.child_value(1)),
        })
    }

    /// The folder at a path below, or itself at the empty path. `None` if there is none. Does not
    /// follow links.
    pub fn folder(&self, path: &str) -> Option<Self> {
        if path.is_empty() {
            return Some(self.clone());
        }
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let found = Self::load(&self.repo, object_of(&self.folders, first)?).ok()?;
        found.folder(rest)
    }

    /// The object of a file or link at a path below, or `None` if there is none. Does not follow
    /// links.
    pub fn object_at(&self, path: &str) -> Option<String> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = self.folder(folder)?;
        object_of(&folder.files, name).map(str::to_owned)
    }

    /// The name of each folder in it, and the object that lists it.
    pub fn lists(&self) -> &[(String, String)] {
        &self.folders
    }

    /// The names of the folders in it.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.folders.iter().map(|(name, _)| name.as_str())
    }

    /// The names of the files and links in it.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|(name, _)| name.as_str())
    }

    /// The object of a file in it, or `None` for a link.
    pub fn file(&self, name: &str) -> Option<&str> {
        let object = object_of(&self.files, name)?;
        let (facts, _) = self.repo.query_file(object, NEVER).ok()?;
        (facts.file_type() == gio::FileType::Regular).then_some(object)
    }

    /// The target of a link in it, or `None` for anything else.
    pub fn link(&self, name: &str) -> Option<String> {
        let object = object_of(&self.files, name)?;
        let (facts, _) = self.repo.query_file(object, NEVER).ok()?;
        let is_link = facts.file_type() == gio::FileType::SymbolicLink;
        // gio reports an error when asked for the target of a regular file.
        let target = is_link.then(|| facts.symlink_target()).flatten()?;
        Some(target.to_str()?.to_owned())
    }

    /// The file that a path leads to, with this folder as the root: its path without links, and its
    /// object.
    pub fn leads_to(&self, path: &str) -> Option<(String, String)> {
        let real = self.without_links(path)?;
        let (name, folder) = real.split_last()?;
        let object = self.folder(&folder.join("/"))?.file(name)?.to_owned();
        Some((real.join("/"), object))
    }

    /// Whether a path leads to something other than a folder, with this folder as the root.
    pub fn has(&self, path: &str) -> bool {
        self.without_links(path)
            .is_some_and(|real| self.object_at(&real.join("/")).is_some())
    }

    fn without_links(&self, path: &str) -> Option<Vec<String>> {
        let (mut real, mut links) = (Vec::<String>::new(), 0);
        let mut left: Vec<_> = path.rsplit('/').map(str::to_owned).collect();
        while let Some(name) = left.pop() {
            if name == ".." {
                real.pop();
            } else if let Some(target) = self.folder(&real.join("/"))?.link(&name) {
                links += 1;
                if target.starts_with('/') {
                    real.clear();
                }
                left.extend(target.rsplit('/').map(str::to_owned));
            } else if !matches!(name.as_str(), "" | ".") {
                real.push(name);
            }
            if links > LINKS {
                return None;
            }
        }
        Some(real)
    }

    /// The lengths in bytes of all files in it and below it.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn lengths(&self) -> Result<Vec<u64>, glib::Error> {
        let mut all = Vec::new();
        for (_, object) in &self.files {
            let (facts, _) = self.repo.query_file(object, NEVER)?;
            all.push(facts.size().try_into().unwrap_or(0));
        }
        for (_, object) in &self.folders {
            all.extend(Self::load(&self.repo, object)?.lengths()?);
        }
        Ok(all)
    }

    /// How many folders are below it.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn count(&self) -> Result<u64, glib::Error> {
        let mut all = 0;
        for (_, object) in &self.folders {
            all += 1 + Self::load(&self.repo, object)?.count()?;
        }
        Ok(all)
    }
}

fn named(list: &glib::Variant) -> Vec<(String, String)> {
    let entry = |entry: glib::Variant| {
        let name = entry.child_value(0).str()?.to_owned();
        let object = entry.child_value(1);
        let bytes = object.fixed_array::<u8>().ok()?;
        (bytes.len() == CHECKSUM).then(|| (name, hex::encode(bytes)))
    };
    list.iter().filter_map(entry).collect()
}

fn object_of<'a>(list: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let (_, object) = list.iter().find(|(known, _)| known == name)?;
    Some(object)
}
