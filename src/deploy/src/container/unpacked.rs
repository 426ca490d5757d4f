//! Where skopeo unpacks an archive: all of it, each time that it opens one (containers/image,
//! oci/archive/oci_transport.go). It removes that when the image is closed: not when it is killed,
//! as the end of a run kills it, and not when the policy forbids the image (containers/skopeo 1.13,
//! cmd/skopeo/proxy.go, `openImageImpl`). So it does it in a folder of ours, which is emptied here.

use std::fs;
use std::io;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use host::durable;
use upgrade::container::{SKOPEO, Transport};
use upgrade::{Reason, names};

use super::apart;
use crate::args::FetchImage;
use crate::children;
use crate::fetch::room;
use crate::gc::layers::make_room;
use crate::site::Site;

/// The folder. No two runs use it at once: of an agent's runs one is under way at a time.
pub fn folder(site: &Site) -> PathBuf {
    site.path.join(names::UNPACKED.trim_start_matches('/'))
}

/// Removes the folder with its content.
///
/// # Errors
/// A part of it may be left.
pub fn clear(site: &Site) -> Result<(), Reason> {
    durable::remove_folder(&folder(site)).map_err(|error| site.broken(error))
}

/// Ends each skopeo, which is no longer needed, and removes what it has unpacked. The next clean-up
/// removes the rest.
pub fn give_back(site: &Site) {
    children::end_all();
    if let Err(reason) = clear(site) {
        eprintln!(
            "careen-deploy {}: cannot remove what was unpacked: {reason}",
            site.verb
        );
    }
}

/// Empties the folder, and checks that it has room for the image if that is an archive. Call it
/// before each opening of an image: what an earlier skopeo has unpacked would take the room twice.
///
/// # Errors
/// [`Reason::NoRoom`], or when it cannot be made.
pub fn make_empty(site: &Site, wanted: &FetchImage) -> Result<(), Reason> {
    if wanted.image.transport != Transport::Archive {
        return Ok(());
    }
    give_back(site);
    let folder = folder(site);
    make(&folder).map_err(|error| site.broken(error))?;
    // Its layers are packed and stay so: what comes out is about as large.
    let bytes = fs::metadata(&wanted.image.place).map_or(0, |archive| archive.len());
    let repo = site.sysroot.repo();
    make_room(site, &[], || {
        room::too_little_to_unpack(site, &repo, &folder, bytes)
    })
}

/// Only the run may create files in it, and only root in the folder above. Otherwise somebody could
/// place a link there.
fn make(folder: &Path) -> io::Result<()> {
    if let Some(above) = folder.parent() {
        durable::make_folder(above).map_err(io::Error::other)?;
    }
    durable::make_private_folder(folder).map_err(io::Error::other)?;
    if !apart::is_due() {
        return Ok(());
    }
    chown(folder, Some(SKOPEO), Some(SKOPEO))
}
