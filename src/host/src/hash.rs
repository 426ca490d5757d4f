//! The SHA-256 of files, read in chunks.

use std::fs::File;
use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

/// The size of a chunk, in bytes.
const PIECE: usize = 1 << 18;

/// The digest of some bytes followed by the content of several files, in hexadecimal digits.
///
/// # Errors
/// A file cannot be read.
pub fn of<'a>(head: &[u8], files: impl IntoIterator<Item = &'a mut File>) -> io::Result<String> {
    let mut sum = Sha256::new_with_prefix(head);
    let mut buffer = vec![0; PIECE];
    for file in files {
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            sum.update(&buffer[..read]);
        }
    }
    Ok(hex::encode(sum.finalize()))
}
