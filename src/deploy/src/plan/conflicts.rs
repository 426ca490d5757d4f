//! Files of /etc that both the node and the image changed. The merge keeps the node's file, and the
//! image's change is lost. Accounts that the image adds are not lost, because a deployment adds
//! them.

use std::path::{Path, PathBuf};

use upgrade::Reason;

use crate::deploy::{accounts, etc};
use crate::site::Site;
use crate::verify::image::Tree;

/// The folder of an image's defaults.
const DEFAULTS: &str = "usr/etc";

/// Finds them. `current` is the running deployment's folder.
///
/// # Errors
/// /etc or one of the two trees cannot be read.
pub fn of(site: &Site, current: &Path, before: &Tree, image: &Tree) -> Result<Vec<String>, Reason> {
    let (before, after) = (before.folder()?, image.folder()?);
    let changed = |path: &PathBuf| {
        let path = format!("{DEFAULTS}/{}", path.display());
        // An object's name covers content, owner and permissions.
        before.object_at(&path) != after.object_at(&path)
    };
    let lost = |path: &PathBuf| changed(path) && !accounts::is_merged(path, current, image);
    let own = etc::own(site, current)?.into_iter().filter(lost);
    Ok(own.map(|path| format!("/etc/{}", path.display())).collect())
}
