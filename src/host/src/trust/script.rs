//! What runs when the kernel executes a script.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::env;

/// How much of a script's first line the kernel reads (execve(2)).
const FIRST_LINE: u64 = 256;
/// It runs the program that its argument names (env(1)).
const ENV: &str = "env";

/// The interpreter of a script; if that is env(1), also the program that env finds in these
/// folders, as the last one. No programs for any other file.
pub(super) fn interpreters(script: &Path, folders: fn() -> String) -> Result<Vec<PathBuf>, String> {
    let Some(line) = first_line(script) else {
        return Ok(Vec::new());
    };
    let line = line.trim_ascii();
    let end = line.iter().position(u8::is_ascii_whitespace);
    let (name, argument) = line.split_at(end.unwrap_or(line.len()));
    let interpreter = PathBuf::from(OsStr::from_bytes(name));
    let found = match interpreter.file_name() == Some(OsStr::new(ENV)) {
        true => env::program(argument.trim_ascii(), &folders())?,
        false => None,
    };
    let all = Some(interpreter).into_iter().chain(found);
    Ok(all.filter(|one| !one.as_os_str().is_empty()).collect())
}

/// The text after `#!` in a script's first line; `None` for any other file.
fn first_line(path: &Path) -> Option<Vec<u8>> {
    let mut start = Vec::new();
    let file = fs::File::open(path).ok()?;
    file.take(FIRST_LINE).read_to_end(&mut start).ok()?;
    let line = start
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    Some(line.to_owned())
}
