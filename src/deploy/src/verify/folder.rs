//! A folder of a commit's tree, read from the object that lists it. Where names and objects are enough, this is the way: gio's opens
//! each file for what it says of it.

use ostree_ext::ostree::{ObjectType, Repo};
use ostree_ext::{gio, glib};

/// What it holds, in the order of names. Names that are no UTF-8 are left out.
pub struct Folder {
    repo: Repo,
    /// Name and object of each file and link.
    files: Vec<(String, String)>,
    /// Name and object of each folder.
    folders: Vec<(String, String)>,
}

/// An object's name in bytes: a SHA-256.
const CHECKSUM: usize = 32;

impl Folder {
    /// Reads the object of a folder.
    ///
    /// # Errors
    /// When it is missing or no such object.
    pub fn load(repo: &Repo, object: &str) -> Result<Self, glib::Error> {
        // (a(say)a(sayay)): files with their objects, folders with their lists and modes (ostree-core.h, OSTREE_TREE_GVARIANT_FORMAT).
        let lists = repo.load_variant(ObjectType::DirTree, object)?;
        Ok(Self {
            repo: repo.clone(),
            files: named(&lists.child_value(0)),
            folders: named(&lists.child_value(1)),
        })
    }

    /// The folder at a path below; nothing where there is none. Links are not followed.
    pub fn folder(&self, path: &str) -> Option<Self> {
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let found = Self::load(&self.repo, object_of(&self.folders, first)?).ok()?;
        if rest.is_empty() {
            Some(found)
        } else {
            found.folder(rest)
        }
    }

    /// The names of the folders in it.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.folders.iter().map(|(name, _)| name.as_str())
    }

    /// The names of what else is in it.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|(name, _)| name.as_str())
    }

    /// The object of a file in it; nothing for a link, which may lead anywhere.
    pub fn file(&self, name: &str) -> Option<&str> {
        let object = object_of(&self.files, name)?;
        let (facts, _) = self
            .repo
            .query_file(object, None::<&gio::Cancellable>)
            .ok()?;
        (facts.file_type() == gio::FileType::Regular).then_some(object)
    }

    /// How many folders there are below it.
    ///
    /// # Errors
    /// When one of them cannot be read.
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
        (bytes.len() == CHECKSUM).then(|| (name, host::hex(bytes)))
    };
    list.iter().filter_map(entry).collect()
}

fn object_of<'a>(list: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let (_, object) = list.iter().find(|(known, _)| known == name)?;
    Some(object)
}
