//! The folder of a node's patches for kubeadm: one rule for all programs that give it to kubeadm.
//!
//! kubeadm walks the whole folder and reads the files of inner folders too (kubernetes v1.35 and
//! v1.36, cmd/kubeadm/app/util/patches). So a user who may write one of them decides what runs as
//! root.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use upgrade::policy::PATCHES;

use crate::trust;

/// The folder for kubeadm's `--patches` in the system at this root, if there is one. An empty name
/// is none, and only the usual folder may be absent.
///
/// # Errors
/// The folder does not exist or cannot be read, or others than root may write it or what is in it.
/// kubeadm without its patches would drop what they set. The message is for a person.
pub fn folder(root: &Path, named: &str) -> Result<Option<PathBuf>, String> {
    let folder = root.join(named.trim_start_matches('/'));
    if named.is_empty() || named == PATCHES && !folder.exists() {
        return Ok(None);
    }
    if !folder.is_dir() || folder.is_symlink() {
        return Err(format!("{} is not a folder", folder.display()));
    }
    let below = below(&folder).map_err(|error| unread(&folder, &error))?;
    let fault = trust::fault(&folder).or_else(|| below.iter().find_map(|path| trust::fault(path)));
    fault.map_or(Ok(Some(folder)), |fault| Err(fault.with_its_fix()))
}

/// Every file at or below that folder, in kubeadm's order, which is that of Go's `filepath.Walk`.
///
/// # Errors
/// A folder cannot be read. The message is for a person.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut below = below(folder).map_err(|error| unread(folder, &error))?;
    below.retain(|path| !is_folder(path));
    Ok(below)
}

/// All that is below a folder, each inner folder before what is in it.
fn below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let mut paths: Vec<_> = entries.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let inner = match is_folder(&path) {
            true => below(&path)?,
            false => Vec::new(),
        };
        all.push(path);
        all.extend(inner);
    }
    Ok(all)
}

/// kubeadm does not walk through a link.
fn is_folder(path: &Path) -> bool {
    path.is_dir() && !path.is_symlink()
}

fn unread(folder: &Path, error: &io::Error) -> String {
    format!("{} cannot be read: {error}", folder.display())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn node() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let usual = root.path().join(PATCHES.trim_start_matches('/'));
        (root, usual)
    }

    #[test]
    fn only_the_usual_folder_may_be_absent() {
        let (root, usual) = node();
        for named in [PATCHES, ""] {
            assert_eq!(folder(root.path(), named), Ok(None), "{named:?}");
        }
        let why = folder(root.path(), "/srv/patches").unwrap_err();
        assert!(why.contains("/srv/patches is not a folder"), "{why}");

        let other = root.path().join("srv/patches");
        for (named, path) in [(PATCHES, &usual), ("/srv/patches", &other)] {
            fs::create_dir_all(path).unwrap();
            assert_eq!(folder(root.path(), named), Ok(Some(path.clone())));
        }
        assert_eq!(folder(root.path(), ""), Ok(None), "the policy has none");
    }

    #[test]
    fn patch_that_others_may_write_is_not_given_to_kubeadm() {
        let (root, usual) = node();
        let inner = usual.join("inner");
        let deep = inner.join("deep");
        fs::create_dir_all(&deep).unwrap();
        let patch = deep.join("etcd.yaml");
        fs::write(&patch, "").unwrap();
        let found = || folder(root.path(), PATCHES);
        assert_eq!(found(), Ok(Some(usual.clone())));
        for path in [&usual, &inner, &deep, &patch] {
            let right = fs::metadata(path).unwrap().permissions();
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
            let why = found().unwrap_err();
            assert!(why.contains("chmod go-w"), "{}: {why}", path.display());
            fs::set_permissions(path, right).unwrap();
        }
        assert!(found().is_ok());
    }

    #[test]
    fn folder_of_patches_that_is_a_link_or_a_file_is_refused() {
        let (root, usual) = node();
        fs::create_dir_all(root.path().join("srv")).unwrap();
        fs::create_dir_all(usual.parent().unwrap()).unwrap();
        symlink(root.path().join("srv"), &usual).unwrap();
        assert!(
            folder(root.path(), PATCHES).is_err(),
            "kubeadm walks no link"
        );
        fs::remove_file(&usual).unwrap();
        fs::write(&usual, "").unwrap();
        assert!(folder(root.path(), PATCHES).is_err());
    }

    #[test]
    fn files_of_inner_folders_are_in_the_order_of_kubeadm() {
        let (_root, usual) = node();
        fs::create_dir_all(usual.join("b")).unwrap();
        fs::create_dir_all(usual.join("empty")).unwrap();
        for name in ["a.yaml", "b/z.yaml", "b/a.yaml", "c.json"] {
            fs::write(usual.join(name), "").unwrap();
        }
        let names = ["a.yaml", "b/a.yaml", "b/z.yaml", "c.json"];
        let expected: Vec<_> = names.iter().map(|name| usual.join(name)).collect();
        assert_eq!(files(&usual).unwrap(), expected);
    }
}
