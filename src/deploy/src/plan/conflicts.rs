//! Files of /etc that both the node and the image changed. The merge keeps the node's file, and the
//! image's change is lost.

use std::path::{Path, PathBuf};

use upgrade::Reason;

use crate::deploy::etc;
use crate::site::Site;
use crate::verify::image::Tree;

/// The folder of an image's defaults.
const DEFAULTS: &str = "usr/etc";

/// Finds them. `current` is the running deployment's folder.
///
/// # Errors
/// /etc or one of the two trees cannot be read.
pub fn of(site: &Site, current: &Path, before: &Tree, after: &Tree) -> Result<Vec<String>, Reason> {
    let (before, after) = (before.folder()?, after.folder()?);
    let changed = |path: &PathBuf| {
        let path = format!("{DEFAULTS}/{}", path.display());
        // An object's name covers content, owner and permissions.
        before.object_at(&path) != after.object_at(&path)
    };
    let own = etc::own(site, current)?.into_iter().filter(changed);
    Ok(own.map(|path| format!("/etc/{}", path.display())).collect())
}
