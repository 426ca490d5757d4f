//! A disk whose power fails at a chosen change: before it, or within it. From then on no change is
//! made until the power is back.

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::Path;

use prepared::disk::beside;
use prepared::{Disk, Error, OnDisk, Owner, Result};

#[derive(Debug, Default)]
pub struct Cutting {
    /// How many points have passed.
    pub passed: Cell<usize>,
    /// The points at which the power fails, in their order.
    at: Cell<Option<usize>>,
    /// It fails within a change.
    torn: Cell<bool>,
    off: Cell<bool>,
}

impl Cutting {
    pub fn fail_at(&self, point: usize, torn: bool) {
        self.at.set(Some(point));
        self.torn.set(torn);
    }

    pub fn is_off(&self) -> bool {
        self.off.get()
    }

    pub fn on(&self) {
        self.off.set(false);
    }

    /// Passes a point at which the power can fail. Returns whether it is still on.
    pub fn point(&self) -> bool {
        if self.off.get() {
            return false;
        }
        let passed = self.passed.get();
        self.passed.set(passed + 1);
        if self.at.get() == Some(passed) {
            self.off.set(true);
            self.at.set(None);
        }
        !self.off.get()
    }

    fn change(&self, path: &Path, half: impl FnOnce()) -> Result<()> {
        let was_on = !self.off.get();
        if self.point() {
            return Ok(());
        }
        if was_on && self.torn.get() {
            half();
        }
        Err(Error::Io {
            doing: "power failed at",
            path: path.to_owned(),
            source: io::Error::other("off"),
        })
    }
}

impl Disk for Cutting {
    fn write(&self, path: &Path, content: &[u8], owner: Owner) -> Result<()> {
        self.change(path, || {
            let _ = fs::write(beside(path), &content[..content.len() / 2]);
        })?;
        OnDisk.write(path, content, owner)
    }

    fn link(&self, path: &Path, target: &Path) -> Result<()> {
        self.change(path, || {})?;
        OnDisk.link(path, target)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.change(to, || {})?;
        OnDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.change(path, || {})?;
        OnDisk.remove(path)
    }

    fn make_folder(&self, path: &Path, owner: Owner) -> Result<()> {
        self.change(path, || {
            let _ = fs::create_dir(path);
        })?;
        OnDisk.make_folder(path, owner)
    }

    fn remove_folder(&self, path: &Path) -> Result<()> {
        self.change(path, || {})?;
        OnDisk.remove_folder(path)
    }

    fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        self.change(to, || {
            let _ = fs::create_dir(to);
        })?;
        OnDisk.copy(from, to)
    }
}
