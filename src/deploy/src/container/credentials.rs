//! The credentials for registries: one of the usual files, opened for skopeo, which may not read it
//! on its own.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use nix::sys::memfd::{MFdFlags, memfd_create};
use serde::de::IgnoredAny;

/// Where bootc and rpm-ostree look (ostree-ext, globals.rs), then where `skopeo login` stores
/// root's, then where `docker login` does, as in containers-auth.json(5).
const PLACES: [&str; 6] = [
    "run/ostree/auth.json",
    "etc/ostree/auth.json",
    "usr/lib/ostree/auth.json",
    "run/containers/0/auth.json",
    "root/.config/containers/auth.json",
    "root/.docker/config.json",
];

/// The first existing file below the root of settings. Only this one is used.
fn file(settings: &Path) -> Option<PathBuf> {
    let mut paths = PLACES.iter().map(|place| settings.join(place));
    paths.find(|path| path.exists())
}

/// Opens that file.
///
/// # Errors
/// It cannot be read or is not JSON. The error names it.
pub fn open(settings: &Path) -> io::Result<Option<File>> {
    let Some(path) = file(settings) else {
        return Ok(None);
    };
    let text = fs::read(&path).map_err(|error| unread(&path, &error))?;
    if let Err(error) = serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(&text) {
        return Err(malformed(&path, &error));
    }
    let file = File::open(&path).map_err(|error| unread(&path, &error))?;
    Ok(Some(file))
}

/// A copy in memory. It has no name, and the user of skopeo can open it from the descriptor that it
/// inherits.
///
/// # Errors
/// It cannot be read or copied.
pub fn copy(mut file: File) -> io::Result<File> {
    let mut copy: File = memfd_create(c"credentials", MFdFlags::MFD_CLOEXEC)?.into();
    io::copy(&mut file, &mut copy)?;
    Ok(copy)
}

/// The credentials that were sent to a registry, for its error message.
pub fn asked(settings: &Path) -> String {
    match file(settings) {
        Some(path) => format!("used the credentials of {}", path.display()),
        None => "used no credentials, because none of the usual files exists".to_owned(),
    }
}

fn unread(path: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!(
        "cannot read the credentials of {}: {error}",
        path.display()
    ))
}

/// The message does not repeat the content, which may be a password.
fn malformed(path: &Path, error: &serde_json::Error) -> io::Error {
    io::Error::other(format!(
        "cannot use the credentials of {}: not a JSON object (line {}, column {}); write it with `skopeo login --authfile` (containers-auth.json(5))",
        path.display(),
        error.line(),
        error.column()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(place: &str, text: &str) -> tempfile::TempDir {
        let settings = tempfile::tempdir().unwrap();
        let path = settings.path().join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        settings
    }

    #[test]
    fn malformed_auth_file_error_gives_the_position_and_no_content() {
        for text in ["", "{ \"auths\": hidden }", "\"hidden\"", "[\"hidden\"]"] {
            let settings = with(PLACES[1], text);
            let why = open(settings.path()).unwrap_err().to_string();
            assert!(
                why.contains("cannot use the credentials of")
                    && why.contains("/etc/ostree/auth.json"),
                "{why}"
            );
            assert!(why.contains("line 1, column "), "{why}");
            assert!(!why.contains("hidden"), "{why}");
        }
    }

    #[test]
    fn a_node_without_credentials_asks_without() {
        let settings = tempfile::tempdir().unwrap();
        assert!(open(settings.path()).unwrap().is_none());
        assert!(asked(settings.path()).starts_with("used no credentials"));
    }
}
