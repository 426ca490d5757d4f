//! Which ids own files of an image.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::super::etc;

/// The first file of each owner and of each group, below the root of a system.
#[derive(Debug, Default)]
pub struct Owners {
    pub users: BTreeMap<u64, PathBuf>,
    pub groups: BTreeMap<u64, PathBuf>,
}

impl Owners {
    /// Those of /usr, which holds all files of an image, also those of its /etc.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn of(root: &Path) -> io::Result<Self> {
        let mut owners = Self::default();
        etc::walk(&root.join("usr"), &mut |path, facts| {
            let path = path.strip_prefix(root).unwrap_or(path);
            let first = |ids: &mut BTreeMap<u64, PathBuf>, id: u32| {
                ids.entry(id.into()).or_insert_with(|| path.to_owned());
            };
            first(&mut owners.users, facts.uid());
            first(&mut owners.groups, facts.gid());
            Ok(())
        })?;
        Ok(owners)
    }
}
