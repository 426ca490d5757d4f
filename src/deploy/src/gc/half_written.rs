//! Files that libostree was writing when it was killed.

use std::path::{Path, PathBuf};

use upgrade::names;

use super::orphans::children;

/// The folders of Careen's refs and of layers' refs (ostree-ext, container/store.rs,
/// `LAYER_PREFIX`).
const REFS: [&str; 2] = ["careen", "ostree/container/blob"];

/// Removes them next to the origins, which are next to the deployments, and among the refs
/// (libglnx, `glnx_file_replace_contents_at`). A half-written ref holds what it names like any
/// other. Among the refs of layers it stops ostree-ext from removing any. Other tools that write
/// there hold the sysroot's lock, as careen-deploy does.
///
/// # Errors
/// One may still be there.
pub fn remove(root: &Path) -> host::Result<()> {
    let stateroots = children(&root.join("ostree/deploy"));
    let mut folders: Vec<_> = stateroots.iter().map(|one| one.join("deploy")).collect();
    let heads = root.join("ostree/repo/refs/heads");
    folders.extend(REFS.map(|refs| heads.join(refs)));
    folders.extend(children(&heads.join(names::IMAGE_REFS)));
    let files = folders.iter().flat_map(|folder| children(folder));
    files
        .filter(|path| is_half_written(path))
        .try_for_each(|path: PathBuf| host::durable::remove(&path))
}

/// Whether libostree was writing it next to its target file: its name is `tmp.` and six letters or
/// digits.
pub fn is_half_written(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let random = name.strip_prefix("tmp.").unwrap_or_default();
    let facts = path.symlink_metadata();
    random.len() == 6 && facts.is_ok_and(|facts| facts.is_file())
}
