//! Our own programs as an image contains them, and the layer that adds them with units and dracut
//! module.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};
use testkit::cache::{Key, built};
use testkit::cargo;
use testkit::programs;
use testkit::script::step;

use super::layer::Layer;
use super::signing::Signer;

/// The static programs run in the initramfs. careen-grub also runs on the host that makes a disk.
/// The others link the image's libostree.
pub(super) const STATIC_TARGET: &str = "x86_64-unknown-linux-gnu";

/// The program for control planes. A Careen of before does not have it.
const CONTROL: &str = "careen-control";

const UNITS: &str = "usr/lib/systemd/system";

/// The Careen files in an image's root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ours {
    /// Everything.
    Whole,
    /// No program and no unit; only the rig's key, which verifies the image's signatures.
    Nothing,
}

/// The folder with `careen-agent`, `careen-control`, `careen-deploy`, `careen-grub` and
/// `careen-stage`: `$CAREEN_PROGRAMS` if set, else built from this source tree.
///
/// # Errors
///
/// Fails when they do not compile.
pub fn programs() -> Result<PathBuf> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    if let Some(dir) = std::env::var_os("CAREEN_PROGRAMS") {
        return Ok(dir.into());
    }
    // Once per run: a later edit belongs to the next run.
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
        cargo::build(
            &target,
            "image",
            &["-p", "careen-agent", "-p", CONTROL, "-p", "careen-deploy"],
            "",
        )?;
        cargo::build(
            &target,
            "stage",
            &["-p", "careen-stage", "--target", STATIC_TARGET],
            "-C target-feature=+crt-static",
        )
    })?;
    fs::create_dir_all(&bin)?;
    let linked = ["careen-agent", CONTROL, "careen-deploy"];
    let fixed = ["careen-grub", "careen-stage"];
    for (from, names) in [
        (target.join("image"), &linked[..]),
        (target.join(STATIC_TARGET).join("stage"), &fixed[..]),
    ] {
        for name in names {
            fs::copy(from.join(name), bin.join(name))
                .with_context(|| format!("cargo built no {name}"))?;
        }
    }
    Ok(bin)
}

impl Ours {
    /// The layer with these files, except `image.json`.
    ///
    /// # Errors
    ///
    /// Fails when something does not build.
    pub fn layer(self) -> Result<PathBuf> {
        match self {
            Self::Whole => layer(),
            Self::Nothing => key_alone(),
        }
    }

    /// Whether these files have what a control plane needs.
    ///
    /// # Errors
    ///
    /// Fails when the programs do not compile.
    pub fn carry_control(self) -> Result<bool> {
        match self {
            Self::Whole => Ok(programs()?.join(CONTROL).is_file()),
            Self::Nothing => Ok(false),
        }
    }
}

/// The path of the key in every image.
const KEY: &str = "usr/share/careen-rig/key.gpg";

fn key_alone() -> Result<PathBuf> {
    let public = Signer::Rig.public()?;
    let key = Key::default().text("key 1").built(&public);
    built("ours-key", &key, |out| Layer::new(out)?.copy(&public, KEY))
}

/// The layer of all Careen files in an image, except `image.json`.
///
/// # Errors
///
/// Fails when something does not build.
pub fn layer() -> Result<PathBuf> {
    let source = cargo::source();
    let bin = programs()?;
    let public = Signer::Rig.public()?;
    let mut key = Key::default().text("ours 2").built(&public);
    for input in [&bin, &source.join("dracut"), &source.join("systemd")] {
        key = key.files(input)?;
    }
    built("ours", &key, |out| {
        let layer = Layer::new(out)?;
        let always = [
            "careen-agent",
            "careen-deploy",
            "careen-grub",
            "careen-stage",
        ];
        let control = bin.join(CONTROL).is_file().then_some(CONTROL);
        for name in always.into_iter().chain(control) {
            layer.copy(&bin.join(name), &format!("usr/libexec/careen/{name}"))?;
        }
        layer.copy_all(&source.join("dracut"), "usr/lib/dracut/modules.d")?;
        layer.copy(&public, KEY)?;
        units(&layer, &source.join("systemd"))
    })
}

/// Copies the folders of `systemd/` to systemd's paths and enables the units. The links are below
/// /usr, because an upgrade keeps the links in /etc of the previous system.
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

/// The `.wants` and `.requires` folders in which a unit's [Install] section wants a link.
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
