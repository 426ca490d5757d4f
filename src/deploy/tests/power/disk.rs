//! A disk in memory, cheap to copy, and what was written to it in its order.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

const PAGE: usize = 4096;

/// Pages that were never written are zero and shared by nobody; the others are shared by copies
/// until one writes.
#[derive(Clone)]
pub struct Disk {
    pages: Vec<Option<Arc<[u8; PAGE]>>>,
}

/// A node has two: GRUB reads the second, with its own eyes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    Root,
    Boot,
}

/// What a disk was asked to do.
pub enum Op {
    Write {
        disk: Which,
        offset: u64,
        data: Arc<[u8]>,
    },
    /// What this disk has taken before is safe from here on.
    Flush { disk: Which },
}

/// Both disks' operations in one order.
pub type Log = Arc<Mutex<Vec<Op>>>;

impl Disk {
    pub fn blank(bytes: usize) -> Self {
        Self {
            pages: vec![None; bytes / PAGE],
        }
    }

    pub fn bytes(&self) -> u64 {
        (self.pages.len() * PAGE) as u64
    }

    pub fn read(&self, offset: u64, length: usize) -> Vec<u8> {
        let end = (offset as usize + length).min(self.bytes() as usize);
        let mut at = offset as usize;
        let mut content = Vec::with_capacity(length);
        while at < end {
            let (page, from) = (at / PAGE, at % PAGE);
            let part = (PAGE - from).min(end - at);
            match &self.pages[page] {
                Some(bytes) => content.extend_from_slice(&bytes[from..from + part]),
                None => content.resize(content.len() + part, 0),
            }
            at += part;
        }
        content
    }

    pub fn write(&mut self, offset: u64, mut data: &[u8]) {
        let mut at = offset as usize;
        while !data.is_empty() {
            let (page, from) = (at / PAGE, at % PAGE);
            let part = (PAGE - from).min(data.len());
            let bytes = self.pages[page].get_or_insert_with(|| Arc::new([0; PAGE]));
            Arc::make_mut(bytes)[from..from + part].copy_from_slice(&data[..part]);
            data = &data[part..];
            at += part;
        }
    }

    /// Writes it to a file with holes.
    pub fn save(&self, path: &Path) -> std::io::Result<()> {
        let file = File::create(path)?;
        file.set_len(self.bytes())?;
        for (at, page) in self.pages.iter().enumerate() {
            if let Some(page) = page {
                file.write_all_at(&page[..], (at * PAGE) as u64)?;
            }
        }
        Ok(())
    }
}
