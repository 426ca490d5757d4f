//! Cuts a stream into lines, and keeps no more than one.

use thiserror::Error;

/// The longest line. etcd sends 32 KiB in each, which are 44 KiB of base64.
const LONGEST: usize = 256 << 10;

/// A line without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a part of its answer has more than {LONGEST} bytes")]
pub(super) struct TooLong;

/// The begin of a line whose end has not come.
#[derive(Debug, Default)]
pub(super) struct Lines(Vec<u8>);

impl Lines {
    /// Hands on each line that these bytes end.
    pub fn push<E: From<TooLong>>(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.keep(&rest[..end])?;
            rest = &rest[end + 1..];
            let handed = given(&self.0, &mut each);
            self.0.clear();
            handed?;
        }
        Ok(self.keep(rest)?)
    }

    /// Hands on a last line without an end.
    pub fn end<E>(self, mut each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        given(&self.0, &mut each)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.0.len() + bytes.len() > LONGEST {
            return Err(TooLong);
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

fn given<E>(line: &[u8], each: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    match line.is_empty() {
        true => Ok(()),
        false => each(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of these parts.
    fn cut(parts: &[&[u8]]) -> Result<Vec<Vec<u8>>, TooLong> {
        let (mut lines, mut found) = (Lines::default(), Vec::new());
        for part in parts {
            lines.push(part, |line| {
                found.push(line.to_vec());
                Ok::<_, TooLong>(())
            })?;
        }
        lines.end(|line| {
            found.push(line.to_vec());
            Ok::<_, TooLong>(())
        })?;
        Ok(found)
    }

    #[test]
    fn lines_are_whole_however_they_come() {
        let whole: &[u8] = b"first\nsecond\n\nthird";
        let expected = [&b"first"[..], b"second", b"third"];
        for at in 0..whole.len() {
            let (begin, end) = whole.split_at(at);
            assert_eq!(cut(&[begin, end]).unwrap(), expected, "{at}");
        }
        assert!(cut(&[]).unwrap().is_empty());
    }

    #[test]
    fn a_line_without_end_is_not_kept() {
        let long = vec![b'a'; LONGEST];
        assert_eq!(cut(&[&long]).unwrap()[0].len(), LONGEST);
        assert_eq!(cut(&[&long, b"a"]), Err(TooLong));
        assert_eq!(cut(&[&long, b"a\n"]), Err(TooLong));
    }
}
