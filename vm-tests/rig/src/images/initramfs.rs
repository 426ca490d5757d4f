//! The layer with the initramfs. There is one per kernel, and all images with that kernel share it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use testkit::cache::{Key, built};
use testkit::script::{beside, finish, step};

use super::base::Base;
use super::layer::Layer;
use super::ours;

/// Our files in an initramfs. Only a change in them requires another one.
const OURS: [&str; 4] = [
    "usr/lib/dracut/modules.d/55careen",
    "usr/libexec/careen/careen-stage",
    "usr/lib/systemd/system/careen-initrd-deadman.service",
    "usr/lib/systemd/system/careen-initrd-deadman.timer",
];

/// The variant of an initramfs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initramfs {
    /// Everything.
    Whole,
    /// Without the driver of the root's disk.
    WithoutDisk,
    /// Without our module.
    WithoutStage,
    /// With an ostree-prepare-root that is skipped.
    WithoutPrepareRoot,
    /// With an ostree-prepare-root that never ends.
    Hanging,
}

const PREPARE_ROOT: &str = "usr/lib/systemd/system/ostree-prepare-root.service";

/// It counts as done and does nothing.
const SKIPPED: &str = "[Unit]\nDescription=Skipped on purpose\nDefaultDependencies=no\nConditionPathExists=/nowhere\n\
After=sysroot.mount\nRequires=sysroot.mount\nBefore=initrd-root-fs.target\n\
[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/false\n";

/// A shell that stops itself, because an initramfs contains no other program for certain. systemd
/// gives it unlimited time.
const HANGS: &str = "[Unit]\nDescription=Hangs on purpose\nDefaultDependencies=no\n\
After=sysroot.mount\nRequires=sysroot.mount\nBefore=initrd-root-fs.target\n\
[Service]\nType=oneshot\nRemainAfterExit=yes\nTimeoutStartSec=infinity\nExecStart=/bin/sh -c 'kill -STOP $$$$'\n";

impl Initramfs {
    const fn name(self) -> &'static str {
        match self {
            Self::Whole => "initramfs",
            Self::WithoutDisk => "initramfs-without-disk",
            Self::WithoutStage => "initramfs-without-stage",
            Self::WithoutPrepareRoot => "initramfs-without-prepare-root",
            Self::Hanging => "initramfs-hanging",
        }
    }

    /// The unit that replaces the system's own.
    const fn prepare_root(self) -> Option<&'static str> {
        match self {
            Self::Whole | Self::WithoutDisk | Self::WithoutStage => None,
            Self::WithoutPrepareRoot => Some(SKIPPED),
            Self::Hanging => Some(HANGS),
        }
    }

    /// The layer, built on first use.
    ///
    /// # Errors
    ///
    /// Fails when dracut fails.
    pub fn layer(self, base: Base) -> Result<PathBuf> {
        let base = base.of_initramfs();
        let tree = base.tree()?;
        let ours = ours::layer()?;
        let mut key = Key::default()
            .files(&beside("initramfs.sh"))?
            .built(&tree)
            .text(self.name());
        if let Some(unit) = self.prepare_root() {
            key = key.text(unit);
        }
        if self != Self::WithoutStage {
            for part in OURS {
                key = key.files(&ours.join(part))?;
            }
        }
        let name = format!("{}-{}", self.name(), base.name());
        built(&name, &key, |out| {
            step(&name, || self.make(&tree, &ours, out))
        })
    }

    fn make(self, tree: &Path, ours: &Path, out: &Path) -> Result<()> {
        let layer = Layer::new(out)?;
        let image = format!("usr/lib/modules/{}/initramfs.img", kernel(tree)?);
        layer.write(&image, "", 0o644)?;
        let extra = out.with_extension("extra");
        let module = Layer::new(&extra)?;
        if self != Self::WithoutStage {
            for part in OURS {
                module.copy_all(&ours.join(part), part)?;
            }
        }
        if let Some(unit) = self.prepare_root() {
            module.write(PREPARE_ROOT, unit, 0o644)?;
        }
        let omit = if self == Self::WithoutDisk {
            "virtio_blk"
        } else {
            ""
        };
        let mut command = Command::new(beside("initramfs.sh"));
        finish(
            command
                .arg(tree)
                .arg(&extra)
                .arg(out.join(image))
                .env("OMIT_DRIVERS", omit),
        )?;
        Ok(fs::remove_dir_all(extra)?)
    }
}

/// The version of the only kernel in a tree.
///
/// # Errors
///
/// Fails when there is none.
pub fn kernel(tree: &Path) -> Result<String> {
    let modules = tree.join("usr/lib/modules");
    let entry = fs::read_dir(&modules)?
        .next()
        .with_context(|| format!("no kernel in {}", modules.display()))??;
    Ok(entry.file_name().to_string_lossy().into_owned())
}
