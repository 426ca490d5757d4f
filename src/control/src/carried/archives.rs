//! The archives of one folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::archive;

/// The most archives of one system. A control plane needs five images.
const MOST: usize = 64;

/// An archive that can be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// The file.
    pub file: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// The names of the images in it.
    pub names: Vec<String>,
}

/// The archives in this folder, by their names. A folder that does not exist has none.
///
/// # Errors
/// One of them cannot be read, or has no image with a whole name.
pub fn archives(folder: &Path) -> Result<Vec<Archive>, String> {
    let said = |error: io::Error| format!("{}: {error}", folder.display());
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(said(error)),
    };
    let paths: io::Result<Vec<_>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(said)?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "tar"));
    if paths.len() > MOST {
        let (found, folder) = (paths.len(), folder.display());
        return Err(format!(
            "{folder} has {found} archives; at most {MOST} are read"
        ));
    }
    paths.sort();
    paths.into_iter().map(read).collect()
}

fn read(file: PathBuf) -> Result<Archive, String> {
    let read = archive::read(&file);
    let (bytes, names) = read.map_err(|why| format!("{}: {why}", file.display()))?;
    Ok(Archive { file, bytes, names })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_without_the_folder_carries_no_image() {
        assert_eq!(archives(Path::new("/nowhere")), Ok(Vec::new()));
    }

    #[test]
    fn archive_that_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("README"), "no archive").unwrap();
        assert_eq!(archives(folder.path()), Ok(Vec::new()));
        fs::write(folder.path().join("torn.tar"), "torn").unwrap();
        let why = archives(folder.path()).unwrap_err();
        assert!(why.contains("torn.tar: "), "{why}");
    }

    #[test]
    fn more_archives_than_a_control_plane_needs_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..=MOST {
            fs::write(folder.path().join(format!("{number}.tar")), "").unwrap();
        }
        let why = archives(folder.path()).unwrap_err();
        assert!(why.contains("has 65 archives"), "{why}");
    }
}
