//! GRUB's environment block: 1024 bytes that GRUB rewrites sector by sector and we in place.
//!
//! `grub-editenv` truncates and writes again, so a power cut can leave a short file; we never change the length, the inode
//! or the blocks. GRUB and a torn write work in 512-byte sectors, so our variable comes first.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use upgrade::OneShot;

use crate::error::{At, Error, Result};

/// The length that GRUB demands, in bytes.
pub const LENGTH: usize = 1024;

/// The first line.
const HEADER: &str = "# GRUB Environment Block\n";

/// The variable of the one-shot entry.
pub const NEXT_ENTRY: &str = "next_entry";

/// The lines behind the first, in their order: remarks, and variables with values as GRUB stores them (a backslash before
/// backslash and newline).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grubenv {
    lines: Vec<String>,
    letters: Letters,
}

/// What the block's bytes are letters of. GRUB does not care; a `saved_entry` is what an entry is called, whoever called it so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Letters {
    #[default]
    Utf8,
    /// Each byte one letter, so that every block comes out as it went in.
    Bytes,
}

impl Grubenv {
    /// Parses a block.
    ///
    /// # Errors
    /// What is wrong with it. GRUB boots the default with a block that it cannot read.
    pub fn parse(block: &[u8]) -> std::result::Result<Self, String> {
        if block.len() != LENGTH {
            return Err(format!(
                "it has {} bytes; accepted are exactly {LENGTH}",
                block.len()
            ));
        }
        let text = block
            .strip_prefix(HEADER.as_bytes())
            .ok_or("it does not begin with \"# GRUB Environment Block\"")?;
        let (text, letters) = match std::str::from_utf8(text) {
            Ok(text) => (text.to_owned(), Letters::Utf8),
            Err(_) => (
                text.iter().copied().map(char::from).collect(),
                Letters::Bytes,
            ),
        };
        let mut lines = unescaped_lines(&text);
        // What follows the last newline fills the block up.
        let filling = lines.pop().unwrap_or_default();
        if filling.bytes().any(|byte| byte != b'#') {
            return Err("it does not end in # signs".to_owned());
        }
        match lines
            .iter()
            .find(|line| !line.starts_with('#') && !line.contains('='))
        {
            Some(line) => Err(format!("a line is no name=value: {line:?}")),
            None => Ok(Self { lines, letters }),
        }
    }

    /// The block of exactly 1024 bytes.
    ///
    /// # Errors
    /// When the lines do not fit.
    pub fn format(&self) -> std::result::Result<Vec<u8>, String> {
        let mut block = HEADER.as_bytes().to_vec();
        for line in &self.lines {
            match self.letters {
                Letters::Utf8 => block.extend_from_slice(line.as_bytes()),
                Letters::Bytes => {
                    block.extend(line.chars().filter_map(|one| u8::try_from(one).ok()))
                }
            }
            block.push(b'\n');
        }
        if block.len() > LENGTH {
            return Err(format!(
                "its lines need {} bytes; {LENGTH} is all there is",
                block.len()
            ));
        }
        block.resize(LENGTH, b'#');
        Ok(block)
    }

    /// The one-shot entry; an empty one is none.
    #[must_use]
    pub fn next_entry(&self) -> Option<&str> {
        self.variable(NEXT_ENTRY).filter(|value| !value.is_empty())
    }

    /// A variable's value as it is stored. GRUB sets one after the other, so of two lines the last one counts.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        let mut values = self.lines.iter().rev();
        values.find_map(|line| value_in(line, name))
    }

    /// Sets the one-shot entry to a menu position, or takes it out. All else stays.
    pub fn set_next_entry(&mut self, position: Option<usize>) {
        self.lines
            .retain(|line| value_in(line, NEXT_ENTRY).is_none());
        if let Some(position) = position {
            let remarks = self
                .lines
                .iter()
                .take_while(|line| line.starts_with('#'))
                .count();
            self.lines
                .insert(remarks, format!("{NEXT_ENTRY}={position}"));
        }
        self.settle_letters();
    }

    /// The line with the odd letters may be the one that went.
    fn settle_letters(&mut self) {
        if self.letters == Letters::Bytes
            && let Ok(block) = self.format()
            && let Ok(same) = Self::parse(&block)
        {
            *self = same;
        }
    }
}

fn value_in<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.strip_prefix(name)?.strip_prefix('=')
}

/// Lines as GRUB splits them: a newline behind a backslash belongs to the value (grub-core/lib/envblk.c).
fn unescaped_lines(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut escaped = false;
    for letter in text.chars() {
        match (escaped, letter) {
            (false, '\n') => lines.push(String::new()),
            _ => lines
                .iter_mut()
                .last()
                .into_iter()
                .for_each(|line| line.push(letter)),
        }
        escaped = !escaped && letter == '\\';
    }
    lines
}

/// Reads the block.
///
/// # Errors
/// When it is not there or damaged.
pub fn read(path: &Path) -> Result<Grubenv> {
    let block = fs::read(path).at("reading", path)?;
    Grubenv::parse(&block).map_err(|detail| Error::damaged(path, detail))
}

/// The one-shot entry as the brain wants to know it.
#[must_use]
pub fn one_shot(path: &Path) -> OneShot {
    match read(path) {
        Ok(env) if env.next_entry().is_some() => OneShot::Set,
        Ok(_) => OneShot::Clear,
        Err(_) => OneShot::Unreadable,
    }
}

/// Sets or clears the one-shot entry in place and waits until it is on the disk.
///
/// # Errors
/// When it is not, or the block was damaged before: then nothing is written.
pub fn write_next_entry(path: &Path, position: Option<usize>) -> Result<()> {
    let mut env = read(path)?;
    env.set_next_entry(position);
    let block = env
        .format()
        .map_err(|detail| Error::damaged(path, detail))?;
    let file = OpenOptions::new()
        .write(true)
        .open(path)
        .at("opening", path)?;
    // Also what is there already: whoever wrote it may have died before it was on the disk, or been told that it did not get there, behind
    // which the kernel takes it for written (fsync(2), "EIO").
    file.write_all_at(&block, 0).at("writing", path)?;
    flush(&file, path)
}

/// What did not get to the disk is forgotten, so that the next look shows what is there.
fn flush(file: &File, path: &Path) -> Result<()> {
    let flushed = file.sync_all();
    if flushed.is_err() {
        let _ = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
    }
    flushed.at("syncing", path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(variables: &str) -> Vec<u8> {
        let mut block = format!("{HEADER}{variables}").into_bytes();
        block.resize(LENGTH, b'#');
        block
    }

    #[test]
    fn setting_and_clearing_keeps_every_other_variable() {
        let before = block("saved_entry=a\\\nb\nboot_success=1\n");
        let mut env = Grubenv::parse(&before).unwrap();
        env.set_next_entry(Some(2));
        assert_eq!(
            env.format().unwrap(),
            block("next_entry=2\nsaved_entry=a\\\nb\nboot_success=1\n")
        );
        env.set_next_entry(None);
        assert_eq!(env.format().unwrap(), before);
    }

    #[test]
    fn a_value_in_other_letters_than_ours_keeps_nobody_from_arming_and_stays_to_the_byte() {
        let mut before = block("saved_entry=Gr?sse\n");
        let at = before.iter().position(|byte| *byte == b'?').unwrap();
        // Latin-1, as an entry may be called.
        before[at] = 0xf6;
        let mut env = Grubenv::parse(&before).unwrap();
        assert_eq!(env.format().unwrap(), before);
        env.set_next_entry(Some(1));
        assert_eq!(env.next_entry(), Some("1"));
        env.set_next_entry(None);
        assert_eq!(env.format().unwrap(), before);
    }

    #[test]
    fn what_grub_leaves_behind_is_no_one_shot() {
        assert_eq!(
            Grubenv::parse(&block("next_entry=\n"))
                .unwrap()
                .next_entry(),
            None
        );
    }

    #[test]
    fn of_two_one_shots_the_last_one_counts_as_for_grub() {
        let mut env = Grubenv::parse(&block("next_entry=\nx=y\nnext_entry=1\n")).unwrap();
        assert_eq!(env.next_entry(), Some("1"));
        env.set_next_entry(None);
        assert_eq!(env.format().unwrap(), block("x=y\n"));
    }

    #[test]
    fn every_damage_is_an_error_and_no_panic() {
        for bad in [
            &b""[..],
            &[0; LENGTH],
            &block("x\n"),
            &block("")[..512],
            &vec![b'#'; 2048],
        ] {
            assert!(Grubenv::parse(bad).is_err());
        }
    }

    #[test]
    fn a_damaged_block_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("grubenv");
        fs::write(&path, b"short").unwrap();
        assert!(write_next_entry(&path, Some(1)).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"short");
        assert_eq!(one_shot(&path), OneShot::Unreadable);
    }

    #[test]
    fn what_seems_to_be_cleared_already_is_written_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("grubenv");
        fs::write(&path, block("")).unwrap();
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_modified(long_ago).unwrap();
        write_next_entry(&path, None).unwrap();
        assert_ne!(file.metadata().unwrap().modified().unwrap(), long_ago);
        assert_eq!(fs::read(&path).unwrap(), block(""));
    }

    #[test]
    fn arming_writes_in_place() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("grubenv");
        fs::write(&path, block("")).unwrap();
        let inode = fs::metadata(&path).unwrap().ino();
        write_next_entry(&path, Some(3)).unwrap();
        assert_eq!(one_shot(&path), OneShot::Set);
        write_next_entry(&path, None).unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().ino()),
            (block(""), inode)
        );
    }
}
