//! The files that decide which images this node takes, in addition to the policy itself. A user who
//! can write one of them controls that decision, so each file is judged as the policy is.
//!
//! These are the repository's configuration and remotes, the keys that verify signatures, the
//! container policy with its keys, and the operator's lists of what is saved before a trial. The
//! image's own lists are left out, because the image's signature covers them.

use std::fs;
use std::path::{Path, PathBuf};

use host::trust::{self, Fault};
use host::{Places, container_policy};
use upgrade::{Reason, names};

use crate::doctor::keyfile;
use crate::policy;

/// The repository, below the physical root.
const REPO: &str = "ostree/repo";
/// Below the root: folders whose files are checked.
const FOLDERS: [&str; 2] = [REMOTES, names::SNAPSHOT_LISTS];
const REMOTES: &str = "/etc/ostree/remotes.d";
/// Keys that libostree uses for every remote without a keyring of its own.
const COMMON_KEYS: &str = "/usr/share/ostree/trusted.gpg.d";
const CONTAINER_POLICY: &str = "/etc/containers/policy.json";

/// A file with a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amiss {
    /// The path as configured.
    pub file: PathBuf,
    /// Why a user other than root can decide its content.
    pub fault: Fault,
}

/// The files that users other than root may write.
pub fn amiss(places: &Places) -> impl Iterator<Item = Amiss> {
    all(places).into_iter().filter_map(|file| {
        let fault = trust::fault(&file)?;
        Some(Amiss { file, fault })
    })
}

/// Checks that only root may write all of them.
///
/// # Errors
/// [`Reason::BadPolicy`] with the first file that others may write.
pub fn are_roots_alone(places: &Places) -> Result<(), Reason> {
    let first = amiss(places).next();
    first.map_or(Ok(()), |one| Err(policy::untrusted(&one.file, &one.fault)))
}

/// Each file once, by the path that the configuration names.
fn all(places: &Places) -> Vec<PathBuf> {
    let mut files = vec![places.sysroot.join(REPO).join("config")];
    for folder in FOLDERS {
        files.extend(with_content(&below(places, folder)));
    }
    files.extend(keys_of_remotes(places, &files));
    files.extend(with_content(&below(places, COMMON_KEYS)));
    let policy = below(places, CONTAINER_POLICY);
    files.extend(keys_of_containers(places, &policy));
    files.push(policy);
    files.sort();
    files.dedup();
    files
}

fn below(places: &Places, path: &str) -> PathBuf {
    places.root.join(path.trim_start_matches('/'))
}

/// The folder itself and each file in it.
fn with_content(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files.insert(0, folder.to_owned());
    files
}

/// The keyring of each remote, and the files or folders that its `gpgkeypath=` names.
fn keys_of_remotes(places: &Places, configured: &[PathBuf]) -> Vec<PathBuf> {
    let texts = configured
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    let groups: Vec<_> = texts.flat_map(|text| keyfile::parse(&text)).collect();
    let mut keys = Vec::new();
    for group in &groups {
        let Some(name) = group.remote() else { continue };
        let ring = places
            .sysroot
            .join(REPO)
            .join(format!("{name}.trustedkeys.gpg"));
        keys.extend(Some(ring).filter(|ring| ring.exists()));
        for path in group.key_paths() {
            let path = below(places, path);
            match path.is_dir() {
                true => keys.extend(with_content(&path)),
                false => keys.push(path),
            }
        }
    }
    keys
}

/// Each file that the container policy names.
fn keys_of_containers(places: &Places, policy: &Path) -> Vec<PathBuf> {
    let text = fs::read(policy).unwrap_or_default();
    let named = container_policy::files(&text);
    named.iter().map(|path| below(places, path)).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const REMOTE: &str =
        "[remote \"site\"]\nurl=https://x\ngpgkeypath=/etc/keys/site.gpg;/etc/keys/more\n";
    const CONTAINERS: &str = r#"{"default":[{"type":"reject"}],"transports":{"docker":{"r.example.com":[
        {"type":"sigstoreSigned","keyPaths":["/etc/keys/a.pub"],"fulcio":{"caPath":"/etc/keys/ca.pem"}}]}}}"#;

    /// A node, with the files that each decide something.
    fn node() -> (tempfile::TempDir, Places, Vec<PathBuf>) {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::running(folder.path());
        let files = [
            ("sysroot/ostree/repo/config", ""),
            ("sysroot/ostree/repo/site.trustedkeys.gpg", ""),
            ("etc/ostree/remotes.d/site.conf", REMOTE),
            ("etc/keys/site.gpg", ""),
            ("etc/keys/more/one.asc", ""),
            ("usr/share/ostree/trusted.gpg.d/vendor.gpg", ""),
            ("etc/containers/policy.json", CONTAINERS),
            ("etc/keys/a.pub", ""),
            ("etc/keys/ca.pem", ""),
            ("etc/careen/snapshot.d/app", ""),
        ];
        let write = |(file, text): (&str, &str)| {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        let files = files.map(write).to_vec();
        (folder, places, files)
    }

    fn found(places: &Places) -> Vec<PathBuf> {
        amiss(places).map(|amiss| amiss.file).collect()
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn each_file_that_decides_is_judged() {
        let (_folder, places, files) = node();
        assert_eq!(found(&places), Vec::<PathBuf>::new());
        for file in files {
            set(&file, 0o664);
            assert_eq!(found(&places), std::slice::from_ref(&file));
            set(&file, 0o644);
        }
    }

    #[test]
    fn a_folder_in_which_others_may_put_such_a_file_is_judged() {
        let (folder, places, _) = node();
        for place in [
            "etc/careen",
            "etc/ostree/remotes.d",
            "etc/careen/snapshot.d",
            "etc/containers",
            "etc/keys/more",
        ] {
            let place = folder.path().join(place);
            set(&place, 0o775);
            assert!(!found(&places).is_empty(), "{}", place.display());
            set(&place, 0o755);
        }
    }

    #[test]
    fn a_request_is_refused_by_the_file_and_how_to_correct_it() {
        let (_folder, places, files) = node();
        assert_eq!(are_roots_alone(&places), Ok(()));
        let remote = &files[2];
        assert!(remote.ends_with("site.conf"));
        set(remote, 0o664);
        let reason = are_roots_alone(&places).unwrap_err();
        assert!(matches!(reason, Reason::BadPolicy { .. }), "{reason:?}");
        let text = reason.to_string();
        assert!(
            text.contains(&format!("chmod go-w {}", remote.display())),
            "{text}"
        );
    }

    #[test]
    fn a_node_without_any_of_them_is_not_at_fault() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(
            found(&Places::running(folder.path())),
            Vec::<PathBuf>::new()
        );
    }
}
