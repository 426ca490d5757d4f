//! Looks for the guard in the initramfs itself, because an image's own description may be wrong.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Stdio};
use std::thread::{self, JoinHandle};

use host::programs::{self, Program};
use upgrade::{Deployment, names};

use super::cpio;
use super::finding::Finding;
use super::patient::Patient;

const NAME: &str = "stage";

/// The files that the dracut module installs.
const WANTED: [&str; 5] = [
    "careen-stage",
    names::GUARD_UNIT,
    names::VERIFY_UNIT,
    names::FALLBACK_UNIT,
    names::INITRD_DEADMAN_TIMER,
];

/// How much of a program's standard error to read, in bytes.
const MOST_WORDS: u64 = 16 * 1024;

/// The first bytes of compressed data, and the program that decompresses it. Libraries for all
/// formats would be larger than the agent.
const PACKERS: [(&[u8], Program); 5] = [
    (b"\x28\xb5\x2f\xfd", Program::Zstd),
    (b"\x1f\x8b", Program::Gzip),
    (b"\xfd7zXZ\0", Program::Xz),
    (b"\x02\x21\x4c\x18", Program::Lz4),
    (b"BZh", Program::Bzip2),
];

/// Whether the running system's initramfs has the guard. The next image's initramfs guards a trial.
/// This one shows how images are built here, and a fallback would boot it.
pub(super) fn stage(patient: &Patient, booted: Option<&Deployment>) -> Finding {
    let Some(path) = booted.and_then(|booted| find(&patient.places.kernel(booted))) else {
        return Finding::warn(
            NAME,
            "the running system's initramfs was not found on /boot",
            "mount /boot",
        );
    };
    let says = host::image_info::read(&patient.places.root).is_ok_and(|info| info.stage.is_some());
    match ours_in(&path) {
        Ok(found) => judge(&found, says),
        Err(error) => Finding::warn(
            NAME,
            format!("cannot read {}: {error}", path.display()),
            "check it by hand: lsinitrd | grep careen",
        ),
    }
}

fn judge(found: &BTreeSet<String>, says: bool) -> Finding {
    let missing: Vec<_> = WANTED
        .into_iter()
        .filter(|name| !found.contains(*name))
        .collect();
    let fix = "build images with dracut --add careen (dracut/55careen)";
    match (missing.is_empty(), says) {
        (true, _) => Finding::ok(NAME, "the guard is in the initramfs"),
        (false, true) => Finding::bad(
            NAME,
            format!(
                "image.json says that the initramfs has a guard, but it lacks {}",
                missing.join(", ")
            ),
            fix,
        ),
        (false, false) => Finding::warn(
            NAME,
            "the running system has no guard; the next one needs it, and a rollback to this one would be refused",
            fix,
        ),
    }
}

/// The initramfs in a kernel's folder on /boot.
fn find(folder: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?.flatten();
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("initramfs") || name.starts_with("initrd")
    };
    files.map(|file| file.path()).find(is_it)
}

/// The base names of Careen's files in an initramfs. Microcode comes first, uncompressed; the rest
/// may be compressed.
fn ours_in(path: &Path) -> io::Result<BTreeSet<String>> {
    let mut input = BufReader::new(File::open(path)?);
    let mut found = BTreeSet::new();
    if archives(&mut input, &mut found)? {
        return Ok(found);
    }
    let start = input.fill_buf()?;
    let known = PACKERS.iter().find(|(magic, _)| start.starts_with(magic));
    let Some((_, packer)) = known else {
        return Err(io::Error::other("unknown compression"));
    };
    // The program shares the file and continues at its position.
    let at = input.stream_position()?;
    let mut file = input.into_inner();
    file.seek(io::SeekFrom::Start(at))?;
    unpacked(*packer, file, &mut found)?;
    Ok(found)
}

/// Reads consecutive archives. Returns whether that was all of the input.
fn archives(input: &mut impl BufRead, found: &mut BTreeSet<String>) -> io::Result<bool> {
    while cpio::begins(input)? {
        cpio::names(input, &mut |name: &str| {
            let last = name.rsplit('/').next().unwrap_or_default();
            if last.starts_with("careen-") {
                found.insert(last.to_owned());
            }
        })?;
    }
    Ok(input.fill_buf()?.is_empty())
}

fn unpacked(packer: Program, file: File, found: &mut BTreeSet<String>) -> io::Result<()> {
    let mut command = packer.command()?;
    let program = PathBuf::from(command.get_program());
    let mut child = command
        .arg("-dc")
        .stdin(file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| io::Error::other(format!("cannot run {}: {error}", program.display())))?;
    let words = child.stderr.take().map(heard);
    let output = child
        .stdout
        .take()
        .ok_or_else(|| io::Error::other("no pipe"))?;
    let read = archives(&mut BufReader::new(output), found);
    // With the pipe closed, the program ends, whether or not its output was read to the end.
    let status = child.wait()?;
    read?;
    if found.is_empty() && !status.success() {
        let words = words
            .and_then(|words| words.join().ok())
            .unwrap_or_default();
        return Err(io::Error::other(programs::ended(&program, status, &words)));
    }
    Ok(())
}

/// Runs concurrently with the decompression, because a program whose output nobody reads would
/// block forever.
fn heard(mut stderr: ChildStderr) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut words = Vec::new();
        let _ = stderr.by_ref().take(MOST_WORDS).read_to_end(&mut words);
        words
    })
}

#[cfg(test)]
mod tests {
    use super::super::Verdict::{Bad, Ok as Well, Warn};
    use super::super::cpio::tests::archive;
    use super::*;

    fn whole() -> Vec<u8> {
        let files = WANTED.map(|name| format!("usr/lib/somewhere/{name}"));
        archive(&files.each_ref().map(String::as_str))
    }

    fn written(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        file
    }

    fn gzipped(bytes: &[u8]) -> Vec<u8> {
        let file = written(bytes);
        let output = Program::Gzip
            .command()
            .unwrap()
            .arg("-c")
            .arg(file.path())
            .output();
        output.unwrap().stdout
    }

    #[test]
    fn the_guard_is_found_behind_microcode_and_compression() {
        let microcode = [
            archive(&["kernel/x86/microcode/GenuineIntel.bin"]),
            vec![0; 300],
        ]
        .concat();
        let packed = [microcode, gzipped(&whole())].concat();
        for bytes in [whole(), packed] {
            let found = ours_in(written(&bytes).path()).unwrap();
            assert_eq!(judge(&found, true).verdict, Well, "{found:?}");
        }
    }

    #[test]
    fn missing_guard_is_bad_when_claimed_and_finding_names_it() {
        let bytes = archive(&["usr/libexec/careen/careen-stage", "init"]);
        let found = ours_in(written(&bytes).path()).unwrap();
        let claimed = judge(&found, true);
        assert_eq!(claimed.verdict, Bad);
        assert!(
            claimed.found.contains(names::GUARD_UNIT) && !claimed.found.contains("careen-stage"),
            "{}",
            claimed.found
        );
        assert_eq!(judge(&found, false).verdict, Warn);
    }

    #[test]
    fn what_cannot_be_looked_into_is_an_error_with_words() {
        let error = ours_in(written(b"LZIP and so on").path()).unwrap_err();
        assert!(error.to_string().contains("compression"), "{error}");
        let error = ours_in(written(b"\x1f\x8bnot gzip").path()).unwrap_err();
        let why = error.to_string();
        assert!(
            why.starts_with("/usr/bin/gzip ended with exit status 1: "),
            "{why}"
        );
        assert!(ours_in(written(&whole()[..200]).path()).is_err(), "cut off");
    }
}
