//! A snapshot that is being written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use host::durable;
use upgrade::control_plane::Saving;

use super::unwritten::not_written;

/// How many bytes are flushed at once. etcd has its log on this disk, as a rule, and waits for it
/// while a large flush lasts.
const FLUSH: u64 = 8 << 20;

/// The file of a snapshot that is not verified yet. It is removed unless it is completed.
pub(super) struct Part {
    file: File,
    path: PathBuf,
    name: PathBuf,
    left: u64,
    unflushed: u64,
    is_complete: bool,
}

impl Part {
    /// Creates the file for root alone. At most so many bytes are written, for which there is room.
    pub fn create(path: PathBuf, name: PathBuf, most: u64) -> Result<Self, Saving> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let file = options.open(&path);
        let file = file.map_err(|error| not_written(format!("{}: {error}", path.display())))?;
        Ok(Self {
            file,
            path,
            name,
            left: most,
            unflushed: 0,
            is_complete: false,
        })
    }

    /// Gives it its name, after all of it is on the disk.
    pub fn complete(mut self) -> Result<(), Saving> {
        self.file
            .sync_all()
            .map_err(|error| not_written(error.to_string()))?;
        let renamed = durable::rename(&self.path, &self.name);
        renamed.map_err(|error| not_written(error.to_string()))?;
        self.is_complete = true;
        Ok(())
    }
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        let count = u64::try_from(written).unwrap_or(u64::MAX);
        let more = || io::Error::other("the database grows too fast for the room that is free");
        self.left = self.left.checked_sub(count).ok_or_else(more)?;
        self.unflushed += count;
        if self.unflushed >= FLUSH {
            self.file.sync_data()?;
            self.unflushed = 0;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.is_complete {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_has_its_name_only_when_it_is_complete() {
        let root = tempfile::tempdir().unwrap();
        let [path, name] = ["7.db.part", "7.db"].map(|name| root.path().join(name));
        let begin = || Part::create(path.clone(), name.clone(), 10).unwrap();
        let mut part = begin();
        part.write_all(b"0123456789").unwrap();
        assert!(!name.exists());
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        drop(part);
        assert!(!path.exists(), "what is not complete is removed");
        let mut part = begin();
        part.write_all(b"0123456789").unwrap();
        part.complete().unwrap();
        assert!(!path.exists());
        assert_eq!(fs::read(&name).unwrap(), b"0123456789");
        assert!(
            begin().write_all(b"01234567890").is_err(),
            "the room is used up"
        );
        assert_eq!(fs::read(&name).unwrap(), b"0123456789");
    }
}
