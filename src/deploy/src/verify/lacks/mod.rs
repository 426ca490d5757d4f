//! Whether the new system, with this node's /etc, will start an agent that judges its trial and a
//! deadman that ends it.
//!
//! Nothing else does: the initramfs' deadman ends with the initramfs, and systemd feeds the
//! hardware's watchdog. A system that starts without both would stay cordoned and on trial until a
//! person reboots it.

mod layer;
mod units;

use std::path::{Path, PathBuf};

use ostree_ext::ostree;
use upgrade::{Reason, names};

use super::folder::Folder;
use super::image::Tree;
use crate::site::Site;
use layer::{in_image, on_disk};
use units::{Units, lacking, merged, needed, programs, pulls_in};

/// The folder of an image's units.
const UNITS: &str = "usr/lib/systemd/system";
/// The folder of a node's own units and links.
const OWN_UNITS: &str = "etc/systemd/system";

/// What a trial of this commit would lack here, for a person. Empty if the trial can be judged and
/// ended.
///
/// # Errors
/// The commit or /etc cannot be read.
pub fn of(site: &Site, tree: &Tree) -> Result<Box<[String]>, Reason> {
    let Some(current) = site.current() else {
        return Ok(Box::default());
    };
    let root = tree.folder()?;
    let units = units(&site.folder(&current), tree, &root)
        .map_err(|error| site.broken(format!("reading units in /etc: {error}")))?;
    let var = var(site, &current);
    let lacks = lacking(&units, |path| is_there(path, &root, &var));
    Ok(lacks.into())
}

/// All units that systemd will find there, with the effective entry of each name.
fn units(current: &Path, tree: &Tree, root: &Folder) -> std::io::Result<Units> {
    let image = in_image(tree, root, UNITS);
    let folders = [format!("usr/{OWN_UNITS}"), OWN_UNITS.to_owned()];
    let there = folders.iter().find(|at| root.folder(at).is_some());
    let theirs = there.map(|at| in_image(tree, root, at));
    let (ours, defaults) = (
        on_disk(&current.join(OWN_UNITS))?,
        on_disk(&current.join("usr").join(OWN_UNITS))?,
    );
    let mut all = brought(current, &image)?;
    all.extend(image);
    all.extend(merged(ours, &defaults, theirs.unwrap_or_default()));
    Ok(all)
}

/// The units of a DaemonSet, if its generator will pass them to systemd: with the lowest priority,
/// and only if the image has no unit for an agent (`generator.sh` of careen-installer).
fn brought(current: &Path, image: &Units) -> std::io::Result<Units> {
    let on_this_node = |path: &str| current.join(path.trim_start_matches('/'));
    let rules =
        on_this_node(names::POD_GENERATOR).is_file() && !image.contains_key(names::AGENT_UNIT);
    match rules {
        true => on_disk(&on_this_node(names::POD_UNITS)),
        false => Ok(Units::new()),
    }
}

/// The stateroot's /var, which the old and the new system share. On a node, another file system may
/// be mounted there.
fn var(site: &Site, current: &ostree::Deployment) -> PathBuf {
    if site.path == Path::new("/") {
        return PathBuf::from("/var");
    }
    let stateroot = site.path.join("ostree/deploy").join(current.osname());
    stateroot.join("var")
}

/// Whether the new system has this program. A path outside /usr and /var counts as present, because
/// the node is responsible for it.
fn is_there(path: &str, image: &Folder, var: &Path) -> bool {
    match path.strip_prefix("/var/") {
        Some(below) => var.join(below).is_file(),
        None if path.starts_with("/usr/") && !path.starts_with("/usr/local/") => {
            image.has(path.trim_start_matches('/'))
        }
        None => true,
    }
}

/// The parts of an image that must be here before a call of [`more_parts`].
pub fn first_parts() -> impl Iterator<Item = String> {
    needed().map(|unit| format!("{UNITS}/{unit}"))
}

/// What else [`of`] looks at: links, and lists of the folders with programs.
///
/// # Errors
/// The commit cannot be read.
pub fn more_parts(tree: &Tree) -> Result<Vec<String>, Reason> {
    let root = tree.folder()?;
    let folder = root.folder(UNITS);
    let folders = folder.iter().flat_map(Folder::folders);
    let link = |folder: &str| {
        let path = format!("/{UNITS}/{folder}");
        needed().map(move |unit| format!("{path}/{unit}"))
    };
    let mut parts: Vec<_> = folders
        .filter(|name| pulls_in(name))
        .flat_map(link)
        .collect();
    let units = in_image(tree, &root, UNITS);
    let places = programs(&units).into_iter();
    let places = places.filter_map(|path| Some(path.rsplit_once('/')?.0));
    // Nothing has such a name. This fetches the list of the folder's own entries.
    parts.extend(places.map(|folder| format!("{folder}/-")));
    Ok(parts)
}
