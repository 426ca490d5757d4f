//! The operator's own programs: where they are, and whether they may run.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use host::backup_files::is_leftover;
use host::trust;
use nix::unistd::{AccessFlags, access};

/// The permission to execute, for anybody.
const EXECUTE: u32 = 0o111;

/// One of the operator's programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its path.
    pub path: PathBuf,
    /// Why it must not run, or `None` if it is executable and only root can have written it.
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
    path.is_dir().then(|| {
        let fault = trust::fault(path).map(|fault| untrusted(&fault));
        judged(path.to_owned(), fault)
    })
}

/// As [`find`], for checks: a program that may not be executed counts, and is at fault. As a check
/// that is left out, it would be one that always passes.
#[must_use]
pub fn find_checks(folders: &[PathBuf]) -> BTreeMap<String, Program> {
    let paths = folders.iter().flat_map(|folder| entries(folder));
    let paths = paths.filter(|path| is_executable(path) || is_meant_to_run(path));
    paths.map(check).collect()
}

/// Whether the image has this very file: below /usr, or as the default of /etc with the same
/// content, owner and mode.
#[must_use]
pub fn is_the_images(root: &Path, path: &Path) -> bool {
    if let Ok(in_usr) = path.strip_prefix("/usr") {
        return !in_usr.starts_with("local");
    }
    let Ok(in_etc) = path.strip_prefix("/etc") else {
        return false;
    };
    let (here, image) = (
        root.join("etc").join(in_etc),
        root.join("usr/etc").join(in_etc),
    );
    let (Ok(own), Ok(theirs)) = (fs::symlink_metadata(&here), fs::symlink_metadata(&image)) else {
        return false;
    };
    if own.mode() != theirs.mode() || own.uid() != theirs.uid() {
        return false;
    }
    match (fs::read_link(&here), fs::read_link(&image)) {
        (Ok(here), Ok(image)) => here == image,
        _ => fs::read(here).is_ok_and(|here| fs::read(image).is_ok_and(|image| here == image)),
    }
}

fn named(path: PathBuf) -> (String, Program) {
    let fault = fault(&path);
    judged(path, fault)
}

fn check(path: PathBuf) -> (String, Program) {
    let fault = cannot_be_executed(&path).or_else(|| fault(&path));
    judged(path, fault)
}

fn fault(program: &Path) -> Option<String> {
    trust::fault_of_program(program).map(|fault| untrusted(&fault))
}

fn untrusted(fault: &trust::Fault) -> String {
    format!("not run as root: {}", fault.with_its_fix())
}

fn judged(path: PathBuf, fault: Option<String>) -> (String, Program) {
    let name = path.file_name().unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    (name, Program { path, fault })
}

/// Why the kernel would not execute it, and what to do.
fn cannot_be_executed(path: &Path) -> Option<String> {
    let place = path.display();
    let Ok(meta) = fs::metadata(path) else {
        return Some(format!("{place} is a link that leads nowhere"));
    };
    let mode = meta.permissions().mode() & 0o7777;
    let where_it_is_built = if path.starts_with("/usr") {
        " (in the build of the image)"
    } else {
        ""
    };
    if mode & EXECUTE == 0 {
        return Some(format!(
            "{place} is not executable (mode {mode:04o}); run: chmod a+x {place}{where_it_is_built}"
        ));
    }
    // Also where the mode allows it: its file system may be mounted with noexec (access(2)).
    access(path, AccessFlags::X_OK).err().map(|error| {
        format!(
            "{place} may not be executed (mode {mode:04o}): {}",
            error.desc()
        )
    })
}

/// Whether a file that is not executable is a program all the same, by what the kernel looks at
/// (execve(2)): `#!`, or the magic number of an ELF file. Other files, such as a README, are none.
/// A link that leads nowhere led to a program once.
fn is_meant_to_run(path: &Path) -> bool {
    match fs::metadata(path) {
        Err(_) => path.is_symlink(),
        Ok(meta) if !meta.is_file() => false,
        Ok(_) => {
            let mut start = Vec::new();
            let read = fs::File::open(path).map(|file| file.take(4).read_to_end(&mut start));
            // What cannot be read is not known to be something else.
            read.is_err() || start.starts_with(b"#!") || start.starts_with(b"\x7fELF")
        }
    }
}

/// What counts in a folder. A backup beside a program is none: it would run an older text of it.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let (_, counts) = sorted_out(folder);
    counts
}

/// The files of these folders that are skipped, because their names are those of backups.
#[must_use]
pub fn skipped(folders: &[PathBuf]) -> Vec<PathBuf> {
    folders
        .iter()
        .flat_map(|folder| sorted_out(folder).0)
        .collect()
}

/// The backups and hidden files of a folder, and all others.
fn sorted_out(folder: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.partition(|path| is_leftover(path.file_name().unwrap_or_default()))
}

fn is_executable(path: &Path) -> bool {
    let meta = fs::metadata(path);
    meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & EXECUTE != 0)
}

fn executables(folder: &Path) -> Vec<PathBuf> {
    let mut paths = entries(folder);
    paths.retain(|path| is_executable(path));
    paths
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn write(root: &Path, path: &str, text: &str, mode: u32) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn check_that_is_not_executable_is_at_fault_by_path_and_mode() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "50-script", "#!/bin/sh\n", 0o644);
        write(root.path(), "60-elf", "\x7fELF\x02", 0o600);
        symlink("/nowhere", root.path().join("70-link")).unwrap();
        write(root.path(), "README", "These are our checks.\n", 0o644);
        write(root.path(), "empty", "", 0o644);
        let found = find_checks(&[root.path().to_owned()]);
        let faults: Vec<_> = found
            .iter()
            .map(|(name, program)| (name.as_str(), program.fault.as_deref().unwrap()))
            .collect();
        let place = root.path().display();
        let script = format!(
            "{place}/50-script is not executable (mode 0644); run: chmod a+x {place}/50-script"
        );
        let link = format!("{place}/70-link is a link that leads nowhere");
        assert_eq!(faults[0], ("50-script", script.as_str()));
        assert!(faults[1].1.contains("60-elf is not executable (mode 0600)"));
        assert_eq!(faults[2..], [("70-link", link.as_str())]);
        assert_eq!(find(&[root.path().to_owned()]).len(), 0, "no hook");
    }

    #[test]
    fn backup_of_a_program_is_neither_check_nor_hook() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "10-net", "#!/bin/sh\n", 0o755);
        for name in ["10-net~", "10-net.bak", "10-net.rpmsave", ".10-net.swp"] {
            write(root.path(), name, "#!/bin/sh\nexit 1\n", 0o755);
        }
        let folders = [root.path().to_owned()];
        assert_eq!(find(&folders).len(), 1);
        assert_eq!(find_checks(&folders).len(), 1);
        assert_eq!(skipped(&folders).len(), 4);
    }

    #[test]
    fn file_of_the_image_in_etc_has_its_content_and_mode() {
        let root = tempfile::tempdir().unwrap();
        let check = "/etc/careen/required.d/50-net";
        let is = || is_the_images(root.path(), Path::new(check));
        write(root.path(), &check[1..], "#!/bin/sh\n", 0o644);
        assert!(!is());
        write(root.path(), &format!("usr{check}"), "#!/bin/sh\n", 0o755);
        assert!(!is(), "somebody has changed its mode");
        write(root.path(), &format!("usr{check}"), "#!/bin/sh\n", 0o644);
        assert!(is());
        assert!(is_the_images(root.path(), Path::new("/usr/lib/careen/x")));
        assert!(!is_the_images(root.path(), Path::new("/usr/local/x")));
    }
}
