//! Compares a file's object with its name, which is the SHA-256 of its stream: owner, mode and
//! extended attributes first, and then the content (`ostree_checksum_file_from_input`).
//!
//! `fsck_object` gives the same result. But libostree as Debian builds it hashes with GLib, which
//! does not use the processor's instructions for that (SHA-NI). Files are all but a hundredth of an
//! image's bytes.

use ostree_ext::gio;
use ostree_ext::gio::prelude::*;
use ostree_ext::glib;
use ostree_ext::ostree::{ObjectType, Repo};
use sha2::{Digest as _, Sha256};

/// The size of one read: large enough that the calls cost nothing compared with the hashing, and
/// small compared with the agent's memory limit.
const CHUNK: usize = 256 * 1024;

/// Reads all of it.
///
/// # Errors
/// It cannot be read, does not match its name, or `stop` was cancelled.
pub fn check(repo: &Repo, name: &str, stop: &gio::Cancellable) -> Result<(), glib::Error> {
    let found = hash(repo, name, stop)?;
    if found == name {
        return Ok(());
    }
    let said = format!("the file object {name} has the content of {found}");
    Err(glib::Error::new(gio::IOErrorEnum::InvalidData, &said))
}

fn hash(repo: &Repo, name: &str, stop: &gio::Cancellable) -> Result<String, glib::Error> {
    let (stream, _) = repo.load_object_stream(ObjectType::File, name, Some(stop))?;
    let mut hash = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        let (read, cut_short) = stream.read_all(&mut chunk, Some(stop))?;
        if let Some(error) = cut_short {
            return Err(error);
        }
        hash.update(&chunk[..read]);
        if read < CHUNK {
            return Ok(format!("{:x}", hash.finalize()));
        }
    }
}
