//! Kernel and initramfs: the start of a boot, which the boot loader does not verify.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::error::{At, Error, Result};
use crate::{Places, hash};

/// Checks kernel and initramfs against libostree's checksum: the loader's copy and, if /boot is not
/// visible, its original in the deployment.
///
/// # Errors
/// What does not match, for display.
/// What does not fit, for a person.
pub fn check(
    places: &Places,
    root: &Path,
    stateroot: &str,
    bootcsum: &str,
) -> std::result::Result<(), String> {
    let copy = places
        .boot
        .join("ostree")
        .join(format!("{stateroot}-{bootcsum}"));
    let folder = if copy.is_dir() {
        copy
    } else {
        folder_in(root).map_err(|error| error.to_string())?
    };
    let found = checksum(&folder).map_err(|error| error.to_string())?;
    if found == bootcsum {
        return Ok(());
    }
    Err(format!(
        "kernel and initramfs in {} have checksum {found} instead of {bootcsum}",
        folder.display()
    ))
}

/// libostree's checksum: SHA-256 over kernel, initramfs and device tree, in this order
/// (ostree-kernel-layout).
///
/// # Errors
/// There is no kernel, or it cannot be read.
pub fn checksum(folder: &Path) -> Result<String> {
    let names = names(folder)?;
    let mut files = Vec::new();
    for prefix in ["vmlinuz", "initramfs", "devicetree"] {
        let found = names
            .iter()
            .find(|name| name.starts_with(prefix) && !name.ends_with(".hmac"));
        match found {
            Some(name) => {
                files.push(File::open(folder.join(name)).at("opening", &folder.join(name))?)
            }
            None if prefix == "vmlinuz" => {
                return Err(Error::damaged(folder, "it does not have a kernel"));
            }
            None => {}
        }
    }
    hash::of(&[], files.iter_mut()).at("reading", folder)
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for child in fs::read_dir(folder).at("listing", folder)? {
        let name = child.at("listing", folder)?.file_name();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// The folder below usr/lib/modules that contains the kernel.
fn folder_in(root: &Path) -> Result<PathBuf> {
    let modules = root.join("usr/lib/modules");
    for child in fs::read_dir(&modules).at("listing", &modules)? {
        let folder = child.at("listing", &modules)?.path();
        if folder.join("vmlinuz").is_file() {
            return Ok(folder);
        }
    }
    Err(Error::damaged(&modules, "it does not have a kernel"))
}
