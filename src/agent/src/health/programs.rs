//! The operator's own programs: where they are, and whether they may run.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use host::trust::{self, Fault};

/// One of the operator's programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its path.
    pub path: PathBuf,
    /// Why it must not run, or `None` if only root can have written it.
    pub fault: Option<String>,
}

/// The programs of these folders, in the order of their names. If two have the same name, the one
/// in the later folder applies. An absent folder holds no programs.
#[must_use]
pub fn find(folders: &[PathBuf]) -> BTreeMap<String, Program> {
    let paths = folders.iter().flat_map(|folder| executables(folder));
    paths.map(named).collect()
}

/// Whether there are any.
#[must_use]
pub fn are_there(folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| !executables(folder).is_empty())
}

/// A folder of programs, under its own name, or `None` if there is no such folder.
#[must_use]
pub fn folder(path: &Path) -> Option<(String, Program)> {
    path.is_dir().then(|| judged(path.to_owned(), trust::fault))
}

fn named(path: PathBuf) -> (String, Program) {
    judged(path, trust::fault_of_program)
}

fn judged(path: PathBuf, judge: fn(&Path) -> Option<Fault>) -> (String, Program) {
    let name = path.file_name().unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    let fault = judge(&path);
    let fault = fault.map(|fault| format!("not run as root: {}", fault.with_its_fix()));
    (name, Program { path, fault })
}

fn executables(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| {
            let meta = std::fs::metadata(path);
            meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        })
        .collect()
}
