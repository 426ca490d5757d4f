//! The unit that mounts the shared folder at each boot, and the drop-in that holds the kubelet back
//! without it. They are in /etc, so that also a system has them whose image does not.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use host::durable;

const FOLDER: &str = "etc/systemd/system";

/// Each file below that folder.
const FILES: [(&str, &str); 2] = [
    (
        upgrade::names::KUBERNETES_MOUNT,
        include_str!("../../../../../systemd/control-plane/etc-kubernetes.mount"),
    ),
    (
        "kubelet.service.d/50-careen-kubernetes.conf",
        include_str!("../../../../../systemd/control-plane/kubelet.conf"),
    ),
];

/// Whether all of them are there, whatever is in them.
pub(super) fn are_there(root: &Path) -> bool {
    paths(root).all(|(path, _)| path.exists())
}

/// Whether one of them is there.
pub(super) fn is_one_there(root: &Path) -> bool {
    paths(root).any(|(path, _)| path.exists())
}

/// Writes them. Nothing needs the link of the [Install] section: the drop-in pulls the mount in.
pub(super) fn write(root: &Path) -> Result<()> {
    for (path, text) in paths(root) {
        let folder = path.parent().context("a unit file has a folder")?;
        durable::make_folder(folder)?;
        durable::write(&path, text.as_bytes(), 0o644)?;
    }
    Ok(())
}

/// Removes them.
pub(super) fn remove(root: &Path) -> Result<()> {
    for (path, _) in paths(root) {
        if path.parent().is_some_and(Path::exists) {
            durable::remove(&path)?;
        }
    }
    // The folder of drop-ins goes only if it is empty.
    let _ = fs::remove_dir(root.join(FOLDER).join("kubelet.service.d"));
    Ok(())
}

fn paths(root: &Path) -> impl Iterator<Item = (PathBuf, &'static str)> {
    let folder = root.join(FOLDER);
    FILES
        .into_iter()
        .map(move |(name, text)| (folder.join(name), text))
}
