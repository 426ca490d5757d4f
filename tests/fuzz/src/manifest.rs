//! The list of a deployment's critical files, as the guard in the initramfs reads it.

use std::fs;

use host::Places;
use host::critical::{CriticalFiles, Which};
use upgrade::Digest;

/// The commit in the list, which the guard looks for.
const COMMIT: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// An accepted list belongs to this commit and prints to the same text. A list lets a deployment
/// pass only when it names no file, because this deployment contains no file, and files next to it
/// do not belong to it.
pub fn check(input: &[u8]) {
    let Ok(commit) = COMMIT.parse::<Digest>() else {
        unreachable!("{COMMIT} is a commit")
    };
    let places = Places::running(&crate::folder().join("critical"));
    let path = places.critical_files(&commit);
    let root = places.state().join("deployment");
    assert!(fs::create_dir_all(&root).is_ok() && fs::write(&path, input).is_ok());
    let Ok(list) = CriticalFiles::read(&places, &commit) else {
        return;
    };
    assert_eq!(list.commit, commit);
    let printed = serde_json::to_vec(&list).unwrap_or_default();
    assert_eq!(serde_json::from_slice(&printed).ok().as_ref(), Some(&list));
    for which in [Which::Boot, Which::Rest] {
        let of_this = list
            .files
            .iter()
            .any(|file| file.boot == (which == Which::Boot));
        match list.check(&root, which) {
            Ok(()) => assert!(!of_this, "a file that is not there has passed"),
            Err(why) => assert!(of_this && !why.is_empty()),
        }
    }
}
