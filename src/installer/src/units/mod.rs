//! Careen's units for an image that has none of them.
//!
//! A full unit in /etc would mask the image's unit of the same name, even that of the next image,
//! since /etc is carried over. So the units are in /etc/careen/units, and a generator gives them to
//! systemd in `generator.late`, which has the lowest priority (systemd.generator(7)). It does so
//! only if the image has no agent's unit. The folder is in /etc and not in /var because generators
//! run before /var is mounted.

mod moved;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::node::Node;
use host::durable;
use moved::{ENVIRONMENT, moved, pulled_in_by};

/// The generator, which systemd runs at every boot and reload.
const GENERATOR: &str = include_str!("generator.sh");

/// The units of the running system. The initramfs has its own from its image.
pub const UNITS: &[(&str, &str)] = &[
    unit(
        "careen-agent.service",
        include_str!("../../../../systemd/system/careen-agent.service"),
    ),
    unit(
        "careen-check.service",
        include_str!("../../../../systemd/system/careen-check.service"),
    ),
    unit(
        "careen-deadman.service",
        include_str!("../../../../systemd/system/careen-deadman.service"),
    ),
    unit(
        "careen-deadman.timer",
        include_str!("../../../../systemd/system/careen-deadman.timer"),
    ),
    unit(
        "careen-fallback.service",
        include_str!("../../../../systemd/system/careen-fallback.service"),
    ),
    unit(
        "careen-gate.service",
        include_str!("../../../../systemd/system/careen-gate.service"),
    ),
    unit(
        "careen-kubeadm.service",
        include_str!("../../../../systemd/system/careen-kubeadm.service"),
    ),
    unit(
        "careen-repair.service",
        include_str!("../../../../systemd/system/careen-repair.service"),
    ),
    unit(
        "careen-restore.service",
        include_str!("../../../../systemd/system/careen-restore.service"),
    ),
    unit(
        "bootloader-update.service.d/careen.conf",
        include_str!("../../../../systemd/system/bootloader-update.service.d/careen.conf"),
    ),
    unit(
        "ostree-finalize-staged.service.d/careen.conf",
        include_str!("../../../../systemd/system/ostree-finalize-staged.service.d/careen.conf"),
    ),
    unit(
        "systemd-boot-update.service.d/careen.conf",
        include_str!("../../../../systemd/system/systemd-boot-update.service.d/careen.conf"),
    ),
];

const fn unit(name: &'static str, text: &'static str) -> (&'static str, &'static str) {
    (name, text)
}

/// A file or a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A file with this content.
    File(String),
    /// A link to this path.
    Link(PathBuf),
}

/// The desired content of the folder.
#[must_use]
pub fn tree() -> BTreeMap<PathBuf, Entry> {
    let mut tree = BTreeMap::new();
    for (name, text) in UNITS {
        tree.insert(PathBuf::from(name), Entry::File(moved(text)));
        for folder in pulled_in_by(text) {
            let link = Entry::Link(Path::new("..").join(name));
            tree.insert(Path::new(&folder).join(name), link);
        }
    }
    tree
}

/// The environment variables that the units set for other units' programs.
#[must_use]
pub fn environment() -> String {
    moved::environment(UNITS.iter().map(|(_, text)| *text))
}

/// The file with the environment variables.
fn environment_file(node: &Node) -> PathBuf {
    node.agents.folder().join(ENVIRONMENT)
}

/// Whether the units and the generator are those of this pod.
#[must_use]
pub fn are_in_place(node: &Node) -> bool {
    let is =
        |path: PathBuf, wanted: &str| fs::read_to_string(path).is_ok_and(|text| text == wanted);
    is(node.generator(), GENERATOR)
        && is(environment_file(node), &environment())
        && found(&node.units()).is_ok_and(|there| there == tree())
}

/// The content of a folder.
fn found(folder: &Path) -> io::Result<BTreeMap<PathBuf, Entry>> {
    let mut tree = BTreeMap::new();
    for name in files(folder)? {
        let path = folder.join(&name);
        let entry = match path.is_symlink() {
            true => Entry::Link(fs::read_link(path)?),
            false => Entry::File(fs::read_to_string(path)?),
        };
        tree.insert(name, entry);
    }
    Ok(tree)
}

/// Everything except folders, by its path below this folder.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let name = below.join(entry.file_name());
            match entry.file_type()?.is_dir() {
                true => open.push(name),
                false => files.push(name),
            }
        }
    }
    Ok(files)
}

/// Writes the units and then the generator, which activates them. Each file atomically replaces the
/// older one, and obsolete files are removed only when all others are in place. So a pod that is
/// killed here leaves units with which an agent starts.
///
/// # Errors
/// If something may not be on disk.
pub fn put(node: &Node) -> host::Result<()> {
    if are_in_place(node) {
        return Ok(());
    }
    durable::make_private_folder(node.agents.folder())?;
    durable::write(&environment_file(node), environment().as_bytes(), 0o644)?;
    let folder = node.units();
    let (tree, there) = (tree(), found(&folder).unwrap_or_default());
    for (name, entry) in &tree {
        if there.get(name) != Some(entry) {
            lay(&folder.join(name), entry)?;
        }
    }
    clear(&folder, &tree)?;
    let generator = node.generator();
    durable::make_folder(generator.parent().unwrap_or(&folder))?;
    durable::write(&generator, GENERATOR.as_bytes(), 0o755)
}

fn lay(path: &Path, entry: &Entry) -> host::Result<()> {
    let folder = path.parent().unwrap_or(path);
    make_way(folder, true)?;
    durable::make_folder(folder)?;
    make_way(path, false)?;
    match entry {
        Entry::File(text) => durable::write(path, text.as_bytes(), 0o644),
        Entry::Link(target) => link(target, path),
    }
}

/// An older pod may have had a file where a folder is needed now, or the other way round.
fn make_way(path: &Path, for_a_folder: bool) -> host::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(facts) if facts.is_dir() && !for_a_folder => durable::remove_folder(path),
        Ok(facts) if !facts.is_dir() && for_a_folder => durable::remove(path),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn link(target: &Path, path: &Path) -> host::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    durable::remove(&new)?;
    symlink(target, &new).map_err(|error| failed("linking", &new, error))?;
    durable::rename(&new, path)
}

/// Removes obsolete files of an older pod, and half-written files of one that was killed.
fn clear(folder: &Path, tree: &BTreeMap<PathBuf, Entry>) -> host::Result<()> {
    let files = files(folder).map_err(|error| failed("listing", folder, error))?;
    for name in files.iter().filter(|name| !tree.contains_key(*name)) {
        durable::remove(&folder.join(name))?;
    }
    Ok(())
}

fn failed(doing: &'static str, path: &Path, source: io::Error) -> host::Error {
    host::Error::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}

/// Whether nothing of them is left.
#[must_use]
pub fn are_gone(node: &Node) -> bool {
    let left = [node.generator(), node.units()];
    left.iter().all(|path| fs::symlink_metadata(path).is_err())
}

/// Removes them. The file with the environment variables is removed with the programs.
///
/// # Errors
/// If something may be left.
pub fn remove(node: &Node) -> host::Result<()> {
    durable::remove(&node.generator())?;
    durable::remove_folder(&node.units())
}
