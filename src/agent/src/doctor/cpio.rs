//! The names in a cpio archive of the kind that the kernel unpacks
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

use std::io::{self, BufRead, ErrorKind, Read};

/// The length of a header: a magic of six bytes, then thirteen numbers of eight hexadecimal digits.
const HEADER: usize = 110;

/// The common prefix of both kinds of magic.
const MAGIC: &[u8] = b"07070";

/// The name that ends an archive.
const END: &[u8] = b"TRAILER!!!";

/// The longest valid name: PATH_MAX, which the kernel also uses.
const LONGEST: usize = 4096;

/// Whether an archive begins here, after zeros of padding.
pub(super) fn begins(input: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let buffer = input.fill_buf()?;
        let zeros = buffer.iter().take_while(|byte| **byte == 0).count();
        if buffer.is_empty() || zeros < buffer.len() {
            // One byte is enough to distinguish it from compressed data. A pipe may give no more at
            // first.
            let rest = &buffer[zeros..];
            let begins =
                !rest.is_empty() && MAGIC.starts_with(&rest[..rest.len().min(MAGIC.len())]);
            input.consume(zeros);
            return Ok(begins);
        }
        input.consume(zeros);
    }
}

/// Reads one archive to its end and passes each name in it to `tell`.
pub(super) fn names(input: &mut impl Read, tell: &mut impl FnMut(&str)) -> io::Result<()> {
    loop {
        let mut header = [0; HEADER];
        input.read_exact(&mut header)?;
        let (size, length) = (number(&header, 6)?, number(&header, 11)?);
        if length > LONGEST {
            return Err(damaged());
        }
        let mut name = vec![0; length + padding(HEADER + length)];
        input.read_exact(&mut name)?;
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        skip(input, size + padding(size))?;
        if name == END {
            return Ok(());
        }
        tell(&String::from_utf8_lossy(name));
    }
}

/// The number at this position after the magic.
fn number(header: &[u8; HEADER], at: usize) -> io::Result<usize> {
    let known = header.starts_with(b"070701") || header.starts_with(b"070702");
    let digits = std::str::from_utf8(&header[6 + at * 8..14 + at * 8]).ok();
    let value = digits.and_then(|digits| usize::from_str_radix(digits, 16).ok());
    value.filter(|_| known).ok_or_else(damaged)
}

fn damaged() -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        "it is not a cpio archive of the kind that the kernel reads",
    )
}

/// Up to the next multiple of four.
const fn padding(length: usize) -> usize {
    (4 - length % 4) % 4
}

fn skip(input: &mut impl Read, length: usize) -> io::Result<()> {
    let wanted = length as u64;
    let skipped = io::copy(&mut input.take(wanted), &mut io::sink())?;
    if skipped == wanted {
        Ok(())
    } else {
        Err(ErrorKind::UnexpectedEof.into())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn entry(name: &str, content: &[u8]) -> Vec<u8> {
        let mut bytes = b"070701".to_vec();
        for (at, value) in [0; 13].into_iter().enumerate() {
            let value: usize = match at {
                6 => content.len(),
                11 => name.len() + 1,
                _ => value,
            };
            bytes.extend(format!("{value:08X}").into_bytes());
        }
        bytes.extend(name.as_bytes());
        bytes.push(0);
        bytes.resize(bytes.len() + padding(bytes.len()), 0);
        bytes.extend(content);
        bytes.resize(bytes.len() + padding(bytes.len()), 0);
        bytes
    }

    /// An archive with these files.
    pub fn archive(files: &[&str]) -> Vec<u8> {
        let entries = files.iter().flat_map(|name| entry(name, name.as_bytes()));
        entries.chain(entry("TRAILER!!!", b"")).collect()
    }

    fn read(bytes: &[u8]) -> io::Result<Vec<String>> {
        let mut found = Vec::new();
        names(&mut &bytes[..], &mut |name| found.push(name.to_owned()))?;
        Ok(found)
    }

    #[test]
    fn every_name_is_told_whatever_its_length() {
        let files = ["a", "ab", "abc", "abcd", "usr/bin/careen-stage"];
        assert_eq!(read(&archive(&files)).unwrap(), files);
    }

    #[test]
    fn an_archive_that_is_cut_anywhere_is_an_error_and_no_panic() {
        let whole = archive(&["one", "two"]);
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "it ends at byte {length}");
        }
    }

    #[test]
    fn a_name_without_end_is_not_made_room_for() {
        let mut bad = archive(&["one"]);
        bad[6 + 11 * 8..14 + 11 * 8].copy_from_slice(b"7FFFFFFF");
        assert!(read(&bad).is_err());
    }

    #[test]
    fn zeros_in_front_of_an_archive_are_passed_over() {
        let bytes = [vec![0; 500], archive(&["one"])].concat();
        let mut input = io::BufReader::with_capacity(16, &bytes[..]);
        assert!(begins(&mut input).unwrap());
        assert!(!begins(&mut &b"\x1f\x8b"[..]).unwrap());
        assert!(!begins(&mut &[0_u8; 64][..]).unwrap());
    }
}
