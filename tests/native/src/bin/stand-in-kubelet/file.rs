//! Writes a file so that no reader sees a part of it.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result};

/// Writes `text` for root alone, and renames it into its place.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let new = path.with_extension("new");
    replace(path, &new, text).with_context(|| format!("cannot write {}", path.display()))
}

fn replace(path: &Path, new: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    std::io::Write::write_all(&mut options.open(new)?, text.as_bytes())?;
    Ok(fs::rename(new, path)?)
}
