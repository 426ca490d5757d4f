//! The disk below a machine's overlay.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// Writes the disk below the overlay to `to` as a raw disk. The recorded writes went to the
/// overlay.
///
/// # Errors
///
/// Fails when it is not an overlay, or the copy cannot be written.
pub fn save_base(overlay: &Path, to: &Path) -> Result<()> {
    let info = Command::new("qemu-img")
        .args(["info", "--output=json"])
        .arg(overlay)
        .output()
        .context("cannot run qemu-img")?;
    let info: Value = serde_json::from_slice(&info.stdout)?;
    let Some(base) = info["full-backing-filename"].as_str() else {
        bail!("{} lies over nothing", overlay.display());
    };
    let mut convert = Command::new("qemu-img");
    convert.args(["convert", "-O", "raw", base]).arg(to);
    let status = convert.status()?;
    ensure!(status.success(), "qemu-img convert: {status}");
    Ok(())
}
