//! Writes the origin file of a deployment: the commit as its source, and Careen's marks.

use ostree_ext::glib::{self, KeyFile};
use ostree_ext::ostree;
use upgrade::id::Digest;

use super::origin::{
    ADDED, BLESSING, ETC, GROUP, KEPT, LIBOSTREE, PINNED, is_kept_by_others, says,
};
use crate::site::Site;

/// An origin for a deployment of a commit. The refspec is the commit itself: the node follows no
/// branch, and `ostree admin upgrade` must not move it along one.
pub fn new_origin(site: &Site, commit: &Digest, fingerprint: &str, added: &[String]) -> KeyFile {
    let origin = site.sysroot.origin_new_from_refspec(commit.as_str());
    origin.set_string(GROUP, ETC, fingerprint);
    if !added.is_empty() {
        origin.set_string(GROUP, ADDED, &added.join(" "));
    }
    origin
}

/// Pins it with Careen's mark, unless it is already pinned.
///
/// # Errors
/// The origin cannot be written.
pub fn pin(site: &Site, deployment: &ostree::Deployment) -> Result<(), glib::Error> {
    if deployment.is_pinned() {
        return Ok(());
    }
    write(site, deployment, &[(LIBOSTREE, true), (PINNED, true)])
}

/// Removes Careen's pin, and never somebody else's.
///
/// # Errors
/// As above.
pub fn unpin(site: &Site, deployment: &ostree::Deployment) -> Result<(), glib::Error> {
    let keys = [(LIBOSTREE, false), (PINNED, false), (KEPT, false)];
    let ours = says(deployment, PINNED);
    write(site, deployment, if ours { &keys } else { &keys[2..] })
}

/// Notes that a blessing begins: from here on, the blessing makes it the default. Pins are for the
/// deployments after the default.
///
/// # Errors
/// As above.
pub fn begin_blessing(site: &Site, deployment: &ostree::Deployment) -> Result<(), glib::Error> {
    let pin = !is_kept_by_others(deployment);
    let keys = [
        (BLESSING, true),
        (KEPT, false),
        (LIBOSTREE, false),
        (PINNED, false),
    ];
    write(site, deployment, if pin { &keys } else { &keys[..2] })
}

/// Removes the note of a blessing, because the next system to try is not blessed.
///
/// # Errors
/// As above.
pub fn forget_blessing(site: &Site, deployment: &ostree::Deployment) -> Result<(), glib::Error> {
    write(site, deployment, &[(BLESSING, false)])
}

/// Keeps it as the system that the blessing replaces. If somebody else has pinned it, that pin
/// stays theirs.
///
/// # Errors
/// The origin cannot be written.
pub fn keep(site: &Site, deployment: &ostree::Deployment) -> Result<(), glib::Error> {
    let pin = !deployment.is_pinned();
    let keys = [(LIBOSTREE, true), (PINNED, true), (KEPT, true)];
    write(site, deployment, if pin { &keys } else { &keys[2..] })
}

/// Stops keeping it, and leaves somebody else's pin.
///
/// # Errors
/// As above.
pub fn let_go(site: &Site, deployment: &ostree::Deployment) -> Result<(), glib::Error> {
    let pin = !is_kept_by_others(deployment);
    let keys = [(LIBOSTREE, false), (PINNED, false), (KEPT, false)];
    write(site, deployment, if pin { &keys } else { &keys[2..] })
}

/// Sets or removes keys in one write. Writes nothing if nothing changes.
fn write(
    site: &Site,
    deployment: &ostree::Deployment,
    keys: &[((&str, &str), bool)],
) -> Result<(), glib::Error> {
    // libostree's own view must match the disk until the file is written.
    let copy = deployment.clone();
    let origin = copy.origin().unwrap_or_default();
    let mut changed = false;
    for ((group, key), wanted) in keys {
        let is_so = if *wanted {
            origin.boolean(group, key).is_ok_and(|set| set)
        } else {
            !origin.has_key(group, key).unwrap_or(false)
        };
        if is_so {
            continue;
        }
        changed = true;
        if *wanted {
            origin.set_boolean(group, key, true);
        } else {
            remove(&origin, group, key)?;
        }
    }
    if !changed {
        return Ok(());
    }
    site.sysroot
        .write_origin_file(deployment, Some(&origin), site.never())
}

/// Removes a group with its last key, so that the file is as it was before.
fn remove(origin: &KeyFile, group: &str, key: &str) -> Result<(), glib::Error> {
    origin.remove_key(group, key)?;
    if origin.keys(group).is_ok_and(|keys| keys.is_empty()) {
        origin.remove_group(group)?;
    }
    Ok(())
}
