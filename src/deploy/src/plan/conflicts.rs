//! Files of /etc that were changed on the node and by the image: the merge keeps the node's, and the image's change is lost.

use std::path::{Path, PathBuf};

use upgrade::Reason;

use crate::deploy::etc;
use crate::site::Site;
use crate::verify::image::Tree;

/// Where an image keeps its defaults.
const DEFAULTS: &str = "usr/etc";

/// Finds them; `current` is the running deployment's folder.
///
/// # Errors
/// When /etc or one of both trees cannot be read.
pub fn of(site: &Site, current: &Path, before: &Tree, after: &Tree) -> Result<Vec<String>, Reason> {
    let (before, after) = (before.folder()?, after.folder()?);
    let changed = |path: &PathBuf| {
        let path = format!("{DEFAULTS}/{}", path.display());
        // An object's name says content, owner and rights.
        before.object_at(&path) != after.object_at(&path)
    };
    let own = etc::own(site, current)?.into_iter().filter(changed);
    Ok(own.map(|path| format!("/etc/{}", path.display())).collect())
}
