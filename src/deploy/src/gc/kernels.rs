//! Kernels on /boot without a deployment. The `cleanup` of libostree 2025.2 does not see them
//! unless the same process has just written the menu, and a full /boot blocks all upgrades.

use std::fs;
use std::path::Path;

use upgrade::Reason;
use upgrade::id::Digest;

use crate::site::Site;

/// Removes the folders of kernels without a deployment. The menu names only those of deployments.
///
/// # Errors
/// One may still be there.
pub fn remove(site: &Site) -> Result<(), Reason> {
    let Ok(folders) = fs::read_dir(site.boot().join("ostree")) else {
        return Ok(());
    };
    let mut orphans = folders
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_orphan(site, path));
    orphans.try_for_each(|path| {
        fs::remove_dir_all(&path)
            .map_err(|error| site.broken(format!("{}: {error}", path.display())))
    })
}

/// Folders of this stateroot are called `<stateroot>-<checksum>`.
fn is_orphan(site: &Site, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some((stateroot, checksum)) = name.rsplit_once('-') else {
        return false;
    };
    let known = checksum.parse::<Digest>().is_ok();
    // All of them, including a staged one.
    let mut deployments = site.sysroot.deployments().into_iter();
    known
        && !deployments
            .any(|deployment| deployment.osname() == stateroot && deployment.bootcsum() == checksum)
}
