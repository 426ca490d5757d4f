//! The folder of patches that kubeadm gets, in a survey as in a raise.

use std::fs;
use std::path::{Path, PathBuf};

use host::trust;
use upgrade::policy::PATCHES;

use crate::folder::Folder;

/// The folder for kubeadm, if there is one. Without a name it is the usual one. That one may be
/// absent, and an empty name is none.
///
/// # Errors
/// The folder does not exist, or others than root may write it or a file in it. kubeadm without its
/// patches would drop what they set.
pub(crate) fn folder(root: &Folder, named: Option<&str>) -> Result<Option<String>, String> {
    let named = named.unwrap_or(PATCHES);
    let path = root.path(named);
    if named.is_empty() || named == PATCHES && !path.exists() {
        return Ok(None);
    }
    if !path.is_dir() || path.is_symlink() {
        return Err(format!(
            "the folder of patches {} is not a folder",
            path.display()
        ));
    }
    let mut all = below(&path).into_iter();
    let fault = trust::fault(&path).or_else(|| all.find_map(|one| trust::fault(&one)));
    match fault {
        None => Ok(Some(path.display().to_string())),
        Some(fault) => Err(fault.with_its_fix()),
    }
}

/// All that is below the folder. kubeadm reads the files of inner folders too.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let with_content = |path: PathBuf| {
        let inner = match path.is_dir() && !path.is_symlink() {
            true => below(&path),
            false => Vec::new(),
        };
        [vec![path], inner].concat()
    };
    paths.flat_map(with_content).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_the_usual_folder_may_be_absent() {
        let root = tempfile::tempdir().unwrap();
        let node = Folder::below(root.path());
        for named in [None, Some(PATCHES), Some("")] {
            assert_eq!(folder(&node, named), Ok(None), "{named:?}");
        }
        let why = folder(&node, Some("/srv/patches")).unwrap_err();
        assert!(why.contains("/srv/patches is not a folder"), "{why}");

        for path in [PATCHES, "/srv/patches"] {
            fs::create_dir_all(node.path(path)).unwrap();
            let found = node.path(path).display().to_string();
            assert_eq!(folder(&node, Some(path)), Ok(Some(found)));
        }
        let usual = node.path(PATCHES).display().to_string();
        assert_eq!(folder(&node, None), Ok(Some(usual)));
        assert_eq!(folder(&node, Some("")), Ok(None), "the policy has none");
    }

    #[test]
    fn patch_that_others_may_write_is_not_given_to_kubeadm() {
        let root = tempfile::tempdir().unwrap();
        let node = Folder::below(root.path());
        let inner = node.path(PATCHES).join("inner");
        fs::create_dir_all(&inner).unwrap();
        let patch = inner.join("etcd.yaml");
        fs::write(&patch, "").unwrap();
        assert!(folder(&node, None).unwrap().is_some());
        fs::set_permissions(&patch, fs::Permissions::from_mode(0o666)).unwrap();
        let why = folder(&node, None).unwrap_err();
        assert!(why.contains("chmod go-w"), "{why}");
    }
}
