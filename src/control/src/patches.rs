//! The folder of patches that kubeadm gets, in a survey as in a raise.

use upgrade::policy::PATCHES;

use crate::folder::Folder;

/// The folder for kubeadm, if there is one. Without a name it is the usual one.
///
/// # Errors
/// As [`host::patches::folder`].
pub(crate) fn folder(root: &Folder, named: Option<&str>) -> Result<Option<String>, String> {
    let found = host::patches::folder(&root.path("/"), named.unwrap_or(PATCHES));
    let found = found.map_err(|why| format!("the folder of patches: {why}"))?;
    Ok(found.map(|folder| folder.display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_name_the_usual_folder_is_taken() {
        let root = tempfile::tempdir().unwrap();
        let node = Folder::below(root.path());
        for named in [None, Some("")] {
            assert_eq!(folder(&node, named), Ok(None), "{named:?}");
        }
        std::fs::create_dir_all(node.path(PATCHES)).unwrap();
        let usual = node.path(PATCHES).display().to_string();
        assert_eq!(folder(&node, None), Ok(Some(usual)));
        let why = folder(&node, Some("/srv/patches")).unwrap_err();
        assert!(why.contains("/srv/patches is not a folder"), "{why}");
    }
}
