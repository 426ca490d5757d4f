//! Our own programs, as they go into an image, and the layer that puts them there with units and dracut module.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result};

use super::cache::{Key, built};
use super::layer::Layer;
use super::script::{finish, step};
use super::signing::Signer;
use crate::programs;

/// The static programs run in the initramfs and, for careen-grub, on the host that makes a disk; the others link the image's libostree.
pub(super) const STATIC_TARGET: &str = "x86_64-unknown-linux-gnu";

const UNITS: &str = "usr/lib/systemd/system";

/// What of Careen an image has in its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ours {
    /// Everything.
    Whole,
    /// Neither a program nor a unit: the key that its signatures are checked with, which is the rig's, and no more.
    Nothing,
}

/// The folder with `careen-agent`, `careen-deploy`, `careen-grub` and `careen-stage`: `$CAREEN_PROGRAMS` when that is set, else built from
/// this source tree.
///
/// # Errors
/// When they do not compile.
pub fn programs() -> Result<PathBuf> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    if let Some(dir) = std::env::var_os("CAREEN_PROGRAMS") {
        return Ok(dir.into());
    }
    // Once a run: what is edited meanwhile belongs to the next run.
    if let Some(dir) = BUILT.get() {
        return Ok(dir.clone());
    }
    let dir = compile()?;
    Ok(BUILT.get_or_init(|| dir).clone())
}

fn compile() -> Result<PathBuf> {
    let target = programs::cache()?.join("target");
    let bin = target.join("image-programs");
    step("our programs", || {
        cargo(
            &target,
            "image",
            &["-p", "careen-agent", "-p", "careen-deploy"],
            "",
        )?;
        cargo(
            &target,
            "stage",
            &["-p", "careen-stage", "--target", STATIC_TARGET],
            "-C target-feature=+crt-static",
        )
    })?;
    fs::create_dir_all(&bin)?;
    for (from, names) in [
        (target.join("image"), ["careen-agent", "careen-deploy"]),
        (
            target.join(STATIC_TARGET).join("stage"),
            ["careen-grub", "careen-stage"],
        ),
    ] {
        for name in names {
            fs::copy(from.join(name), bin.join(name))
                .with_context(|| format!("cargo built no {name}"))?;
        }
    }
    Ok(bin)
}

impl Ours {
    /// The layer with it, except what `image.json` says.
    ///
    /// # Errors
    /// When something does not build.
    pub fn layer(self) -> Result<PathBuf> {
        match self {
            Self::Whole => layer(),
            Self::Nothing => key_alone(),
        }
    }
}

/// Where every image has the key.
const KEY: &str = "usr/share/careen-rig/key.gpg";

fn key_alone() -> Result<PathBuf> {
    let public = Signer::Rig.public()?;
    let key = Key::default().text("key 1").built(&public);
    built("ours-key", &key, |out| Layer::new(out)?.copy(&public, KEY))
}

/// The layer of everything that is Careen's in an image, except what `image.json` says of it.
///
/// # Errors
/// When something does not build.
pub fn layer() -> Result<PathBuf> {
    let source = source();
    let bin = programs()?;
    let public = Signer::Rig.public()?;
    let mut key = Key::default().text("ours 2").built(&public);
    for input in [&bin, &source.join("dracut"), &source.join("systemd")] {
        key = key.files(input)?;
    }
    built("ours", &key, |out| {
        let layer = Layer::new(out)?;
        for name in [
            "careen-agent",
            "careen-deploy",
            "careen-grub",
            "careen-stage",
        ] {
            layer.copy(&bin.join(name), &format!("usr/libexec/careen/{name}"))?;
        }
        layer.copy_all(&source.join("dracut"), "usr/lib/dracut/modules.d")?;
        layer.copy(&public, KEY)?;
        units(&layer, &source.join("systemd"))
    })
}

/// The program that wraps a commit in a container image and pushes it: of the host, in no image.
///
/// # Errors
/// When it does not compile.
pub fn careen_image() -> Result<PathBuf> {
    let target = programs::cache()?.join("target");
    step("careen-image", || {
        cargo(&target, "image", &["-p", "careen-image"], "")
    })?;
    Ok(target.join("image/careen-image"))
}

/// The source tree that this crate lies in.
pub(super) fn source() -> PathBuf {
    programs::home()
        .parent()
        .unwrap_or(Path::new("/"))
        .to_owned()
}

pub(super) fn cargo(target: &Path, profile: &str, arguments: &[&str], flags: &str) -> Result<()> {
    let mut command = Command::new("cargo");
    command
        .current_dir(source())
        .args(["build", "--quiet", "--profile", profile])
        .args(arguments);
    finish(
        command
            .env("CARGO_TARGET_DIR", target)
            .env("RUSTFLAGS", flags),
    )
}

/// Puts the folders of `systemd/` where systemd looks for them, and enables the units: by links below /usr, since an upgrade keeps the
/// links in /etc of the system before it.
fn units(layer: &Layer, from: &Path) -> Result<()> {
    layer.copy_all(&from.join("tmpfiles.d"), "usr/lib/tmpfiles.d")?;
    layer.copy_all(&from.join("system-preset"), "usr/lib/systemd/system-preset")?;
    layer.copy_all(&from.join("system"), UNITS)?;
    for entry in fs::read_dir(from.join("system"))? {
        let path = entry?.path();
        if path.is_file() {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            for dir in pulled_in_by(&fs::read_to_string(&path)?) {
                layer.link(&format!("{UNITS}/{dir}/{name}"), &format!("../{name}"))?;
            }
        }
    }
    Ok(())
}

/// The folders, `.wants` and `.requires`, that a unit's [Install] section asks for a link in.
fn pulled_in_by(unit: &str) -> Vec<String> {
    let mut dirs = Vec::new();
    for (setting, suffix) in [("WantedBy=", "wants"), ("RequiredBy=", "requires")] {
        let values = unit.lines().filter_map(|line| line.strip_prefix(setting));
        dirs.extend(
            values
                .flat_map(str::split_whitespace)
                .map(|target| format!("{target}.{suffix}")),
        );
    }
    dirs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_enabled_for_every_target_that_wants_or_requires_it() {
        let unit = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=a.target b.target\nRequiredBy=c.target\n";
        assert_eq!(
            pulled_in_by(unit),
            ["a.target.wants", "b.target.wants", "c.target.requires"]
        );
    }
}
