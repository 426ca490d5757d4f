//! A system root in a folder, with only the parts of OSTree's layout from which the real program
//! detects its system.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::json;

use crate::node::OLD_VERSION;

/// Creates one deployment below `folder` and returns its root, for `careen-agent --root`.
///
/// # Errors
/// When the folder is not writable.
pub fn lay_out(folder: &Path) -> Result<PathBuf> {
    let (digest, kernel) = ("a".repeat(64), "c".repeat(64));
    let physical = folder.join("physical");
    let deployment = format!("ostree/deploy/careen/deploy/{digest}.0");
    let root = physical.join(&deployment);
    fs::create_dir_all(root.join("usr/lib/careen"))?;
    let info =
        json!({ "format": 1, "kubernetes": OLD_VERSION, "architecture": "x86_64", "stage": 1 });
    fs::write(root.join("usr/lib/careen/image.json"), info.to_string())?;
    symlink(&physical, root.join("sysroot"))?;
    symlink(physical.join("boot"), root.join("boot"))?;

    let links = physical.join(format!("ostree/boot.1.1/careen/{kernel}"));
    fs::create_dir_all(&links)?;
    symlink("boot.1.1", physical.join("ostree/boot.1"))?;
    symlink(
        format!("../../../deploy/careen/deploy/{digest}.0"),
        links.join("0"),
    )?;

    let entries = physical.join("boot/loader.1/entries");
    fs::create_dir_all(&entries)?;
    symlink("loader.1", physical.join("boot/loader"))?;
    let entry = format!(
        "title Careen\nversion 1\noptions ostree=/ostree/boot.1/careen/{kernel}/0\nlinux /ostree/careen-{kernel}/vmlinuz\n"
    );
    fs::write(entries.join("ostree-1-careen.conf"), entry)?;
    Ok(root)
}
