//! A database whose SHA-256 follows it.

use std::io::{self, Write};

use sha2::{Digest as _, Sha256};
use upgrade::Digest;

/// The length of the digest.
const LENGTH: usize = 32;

/// Writes all of it, and hashes all but the last 32 bytes.
pub(super) struct Verified<'a, W> {
    to: &'a mut W,
    hash: Sha256,
    /// What may be the digest; not hashed yet.
    tail: Vec<u8>,
    bytes: u64,
}

impl<'a, W: Write> Verified<'a, W> {
    pub fn new(to: &'a mut W) -> Self {
        Self {
            to,
            hash: Sha256::new(),
            tail: Vec::new(),
            bytes: 0,
        }
    }

    /// Takes the next bytes.
    pub fn take(&mut self, blob: &[u8]) -> io::Result<()> {
        self.to.write_all(blob)?;
        self.tail.extend_from_slice(blob);
        let hashed = self.tail.len().saturating_sub(LENGTH);
        self.hash.update(&self.tail[..hashed]);
        self.tail.drain(..hashed);
        self.bytes += u64::try_from(hashed).unwrap_or(u64::MAX);
        Ok(())
    }

    /// The length of the database and its digest, if that is what the last bytes say.
    pub fn end(self) -> Result<(u64, Digest), String> {
        let computed = self.hash.finalize();
        if self.bytes == 0 || self.tail.len() < LENGTH {
            return Err("its answer ended before the digest".to_owned());
        }
        if self.tail[..] != computed[..] {
            return Err("its answer is not what its digest says".to_owned());
        }
        let digest = hex::encode(computed).parse();
        let digest = digest.map_err(|error| format!("{error}"))?;
        Ok((self.bytes, digest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A database of so many bytes with its digest.
    fn whole(length: usize) -> Vec<u8> {
        let mut all: Vec<u8> = (0..=250).cycle().take(length).collect();
        let digest = Sha256::digest(&all);
        all.extend_from_slice(&digest);
        all
    }

    fn read(parts: &[&[u8]]) -> Result<(u64, Digest), String> {
        let mut to = Vec::new();
        let mut verified = Verified::new(&mut to);
        for part in parts {
            verified.take(part).unwrap();
        }
        let end = verified.end();
        assert_eq!(to, parts.concat(), "all is written");
        end
    }

    #[test]
    fn a_database_is_verified_however_it_comes() {
        let all = whole(100);
        let expected = hex::encode(&all[100..]);
        for at in 0..all.len() {
            let (begin, end) = all.split_at(at);
            let (bytes, digest) = read(&[begin, end]).unwrap();
            assert_eq!((bytes, digest.as_str()), (100, expected.as_str()), "{at}");
        }
    }

    #[test]
    fn what_is_short_or_changed_is_refused() {
        let mut all = whole(100);
        for length in [0, 31, 32, 33, 100, 131] {
            assert!(read(&[&all[..length]]).is_err(), "{length}");
        }
        all[7] ^= 1;
        assert!(read(&[&all]).unwrap_err().contains("digest"));
        assert!(read(&[&whole(0)]).is_err(), "a database is not empty");
    }
}
