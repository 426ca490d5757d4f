//! Libraries of this node that the loader finds before those of the image: in a folder of
//! /etc/ld.so.conf.d, or by the loader's cache (ld.so(8), ldconfig(8)). Debian's own list begins
//! with /usr/local/lib, which is this node's. A program of the image may crash with such a library.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::ownership::{below, is_in_usr, is_the_nodes};
use super::starts::LIBRARIES;

/// The list of folders, and the folder of lists that it includes.
const LIST: &str = "/etc/ld.so.conf";
const LISTS: &str = "/etc/ld.so.conf.d";

/// What `ldconfig` has found in the folders. The loader reads no list.
const CACHE: &str = "/etc/ld.so.cache";

/// The list of this node that brings libraries, or a library of this node that the cache names and
/// the image has as well.
pub(super) fn found_by_the_node(root: &Path) -> Option<PathBuf> {
    let mut lists = lists(root).into_iter();
    let own = lists.find(|list| is_the_nodes(root, list) && names_a_folder(root, list));
    own.or_else(|| cached(root))
}

fn lists(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(below(root, Path::new(LISTS)))
        .into_iter()
        .flatten();
    let names = entries.flatten().map(|entry| entry.file_name());
    let lists = names.map(|name| Path::new(LISTS).join(name));
    let mut lists: Vec<_> = lists
        .filter(|list| list.extension().is_some_and(|end| end == "conf"))
        .collect();
    lists.push(LIST.into());
    lists.sort();
    lists
}

fn names_a_folder(root: &Path, list: &Path) -> bool {
    let text = fs::read(below(root, list)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().any(|line| line.trim_start().starts_with('/'))
}

/// The cache has each library as its name and its path, and each of these ends with a zero byte.
fn cached(root: &Path) -> Option<PathBuf> {
    let cache = fs::read(below(root, Path::new(CACHE))).unwrap_or_default();
    let paths = cache
        .split(|byte| *byte == 0)
        .filter(|text| text.starts_with(b"/"));
    let mut paths = paths.map(|text| Path::new(OsStr::from_bytes(text)));
    let found = paths.find(|path| {
        let is_own = !is_in_usr(root, path) && below(root, path).exists();
        is_own
            && path
                .file_name()
                .is_some_and(|name| the_image_has(root, name))
    });
    found.map(Path::to_owned)
}

fn the_image_has(root: &Path, library: &OsStr) -> bool {
    let mut folders = LIBRARIES.split(':').map(Path::new);
    folders.any(|folder| below(root, &folder.join(library)).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Option<PathBuf> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        found_by_the_node(root.path())
    }

    #[test]
    fn list_of_folders_that_the_node_made_or_changed_is_found() {
        let list = "etc/ld.so.conf.d/libc.conf";
        let image = ("usr/etc/ld.so.conf.d/libc.conf", "/usr/local/lib\n");
        let (same, changed) = ((list, image.1), (list, "/opt/lib\n"));
        assert_eq!(found(&[same, image]), None);
        let own = Some(Path::new("/").join(list));
        assert_eq!(found(&[changed, image]), own);
        assert_eq!(found(&[changed]), own);
        assert_eq!(
            found(&[("etc/ld.so.conf", "/opt/lib\n")]),
            Some(LIST.into())
        );
        for nothing in [
            (list, "# /opt/lib\n"),
            ("etc/ld.so.conf", "include ld.so.conf.d/*.conf\n"),
            ("etc/ld.so.conf.d/site.conf.bak", "/opt/lib\n"),
        ] {
            assert_eq!(found(&[nothing]), None, "{nothing:?}");
        }
    }

    #[test]
    fn library_of_the_node_in_place_of_the_images_is_found() {
        let own = "usr/local/lib/libseccomp.so.2";
        let cache = "glibc-ld.so.cache1.1\0\x01\0libseccomp.so.2\0/usr/local/lib/libseccomp.so.2\0";
        let cache = ("etc/ld.so.cache", cache);
        let image = ("usr/lib64/libseccomp.so.2", "");
        let library = Some(Path::new("/").join(own));
        assert_eq!(found(&[cache, image, (own, "")]), library);
        assert_eq!(found(&[cache, (own, "")]), None, "the image has none");
        assert_eq!(found(&[cache, image]), None, "it is gone");
    }
}
