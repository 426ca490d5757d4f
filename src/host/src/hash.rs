//! The SHA-256 of files, read in pieces.

use std::fs::File;
use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

/// Read at once, in bytes.
const PIECE: usize = 1 << 18;

/// Of some bytes and, behind them, several files' content, one after the other; in hexadecimal digits.
///
/// # Errors
/// When a file cannot be read.
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
