//! The files of the node that a survey reads.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use host::Places;

/// No file that is read here is larger. A file of another kind in its place is not read whole.
const LONGEST: u64 = 1 << 20;

/// The root of the node's files.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// The files below this root, which is / but for tests.
    #[must_use]
    pub fn below(root: &Path) -> Self {
        Self(root.to_owned())
    }

    /// A file by the path that it has on the node.
    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    /// The same files for the parts that all programs share.
    pub(crate) fn places(&self) -> Places {
        Places::running(&self.0)
    }

    /// The text of a file.
    pub(crate) fn read(&self, path: &str) -> io::Result<String> {
        let mut text = String::new();
        let file = File::open(self.path(path))?;
        let read = file.take(LONGEST + 1).read_to_string(&mut text)?;
        if u64::try_from(read).unwrap_or(u64::MAX) > LONGEST {
            return Err(io::Error::other(format!(
                "it has more than {LONGEST} bytes"
            )));
        }
        Ok(text)
    }

    /// Why a file cannot be read, for a sentence.
    pub(crate) fn why(path: &str, error: &io::Error) -> String {
        if error.kind() == io::ErrorKind::NotFound {
            format!("{path} does not exist")
        } else {
            format!("{path}: {error}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_end_is_not_read_whole() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::below(root.path());
        std::fs::write(folder.path("/long"), vec![b'a'; (1 << 20) + 1]).unwrap();
        std::fs::write(folder.path("/fits"), vec![b'a'; 1 << 20]).unwrap();
        assert!(folder.read("/long").is_err());
        assert_eq!(folder.read("/fits").unwrap().len(), 1 << 20);
    }
}
