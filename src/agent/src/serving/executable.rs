//! Whether the kernel can execute a program (execve(2)). A program that is whole may fail all the
//! same (systemd.exec(5), status 203): for a disk error, for want of memory, or for a security
//! policy of the node.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::health::ownership::is_in_usr;

/// Where systemd looks for a bare name (systemd.exec(5), `ExecSearchPath=`).
const FOLDERS: [&str; 6] = [
    "usr/local/sbin",
    "usr/local/bin",
    "usr/sbin",
    "usr/bin",
    "sbin",
    "bin",
];

/// How much of a file shows what executes it: the machine is at 18 of ELF's header (elf(5)), and
/// Linux reads a script's first line to 256.
const HEAD: u64 = 256;

/// Whether this program of a unit is missing, not executable, or of a format that the kernel does
/// not execute. A program that cannot be looked at shows nothing.
pub(crate) fn is_broken(root: &Path, program: &str) -> bool {
    let Some(file) = place(root, Path::new(program)) else {
        return true;
    };
    match fs::metadata(&file) {
        Err(error) => error.kind() == ErrorKind::NotFound,
        Ok(meta) if !meta.is_file() || meta.permissions().mode() & 0o111 == 0 => true,
        Ok(_) => head(&file).is_ok_and(|head| !is_format(root, &head)),
    }
}

/// The file, below the root. `None` for a bare name that is in no folder.
fn place(root: &Path, program: &Path) -> Option<PathBuf> {
    if let Ok(inside) = program.strip_prefix("/") {
        return Some(root.join(inside));
    }
    let mut files = FOLDERS.iter().map(|folder| root.join(folder).join(program));
    files.find(|file| file.exists())
}

fn head(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(file)?.take(HEAD).read_to_end(&mut head)?;
    Ok(head)
}

fn is_format(root: &Path, head: &[u8]) -> bool {
    if let Some(line) = head.strip_prefix(b"#!") {
        return has_its_interpreter(root, line);
    }
    let own = head_of_this_program();
    head.starts_with(b"\x7fELF") && is_of_the_machine(head, &own)
}

/// An interpreter outside of the image says nothing about the image.
fn has_its_interpreter(root: &Path, line: &[u8]) -> bool {
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let Some(interpreter) = line.split_whitespace().next().map(Path::new) else {
        return false;
    };
    let file = place(root, interpreter);
    let is_there = file.is_some_and(|file| fs::metadata(file).is_ok());
    is_there || !is_in_usr(root, interpreter)
}

fn head_of_this_program() -> Vec<u8> {
    head(Path::new("/proc/self/exe")).unwrap_or_default()
}

/// Kernels also execute programs of 32 bits, where they are built with that.
fn is_of_the_machine(head: &[u8], own: &[u8]) -> bool {
    const CLASS: usize = 4;
    const MACHINE: std::ops::Range<usize> = 18..20;
    let (class, machine) = (head.get(CLASS), head.get(MACHINE));
    machine.is_some() && (class != own.get(CLASS) || machine == own.get(MACHINE))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether this file in /usr/bin is broken, of this mode and with this text.
    fn is_broken_with(mode: u32, text: &[u8]) -> bool {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("usr/bin");
        fs::create_dir_all(&folder).unwrap();
        let whole = head_of_this_program();
        for (name, text) in [("x", text), ("sh", whole.as_slice())] {
            fs::write(folder.join(name), text).unwrap();
            fs::set_permissions(folder.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let (named, bare) = (
            is_broken(root.path(), "/usr/bin/x"),
            is_broken(root.path(), "x"),
        );
        assert_eq!(named, bare, "a bare name");
        named
    }

    #[test]
    fn program_that_the_kernel_executes_is_whole() {
        assert!(!is_broken_with(0o755, &head_of_this_program()));
        assert!(!is_broken_with(0o755, b"#!/usr/bin/sh -e\ntrue\n"));
        assert!(
            !is_broken_with(0o755, b"#! /opt/vendor/python\n"),
            "not the image's"
        );
    }

    #[test]
    fn program_that_no_kernel_executes_is_broken() {
        let mut foreign = head_of_this_program();
        foreign[18] ^= 0x55;
        assert!(is_broken_with(0o755, &foreign), "of another machine");
        assert!(is_broken_with(0o644, &head_of_this_program()));
        assert!(is_broken_with(0o755, b"#!/usr/bin/python9\n"));
        assert!(is_broken_with(0o755, b"true\n"));
        assert!(is_broken_with(0o755, b""));
        let root = tempfile::tempdir().unwrap();
        assert!(is_broken(root.path(), "/usr/bin/x"));
        assert!(is_broken(root.path(), "x"));
    }
}
