//! Which program env(1) of the GNU coreutils runs for the first line of a script. Every option that
//! is not listed here, and every text that env would change, is an error: a guess could judge one
//! program while env runs another.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

/// Where the C library looks without PATH (`_CS_PATH`, confstr(3)).
const WITHOUT_PATH: &str = "/bin:/usr/bin";
/// The variable that says where programs are.
const PATH: &[u8] = b"PATH";
/// The options that empty the environment.
const EMPTY: [&[u8]; 3] = [b"-", b"-i", b"--ignore-environment"];
/// The options that change neither the program nor where it is.
const PLAIN: [&[u8]; 5] = [
    b"-v",
    b"--debug",
    b"--block-signal",
    b"--default-signal",
    b"--ignore-signal",
];
/// The same, with an argument after `=`.
const SIGNALS: [&[u8]; 3] = [
    b"--block-signal=",
    b"--default-signal=",
    b"--ignore-signal=",
];
/// The options with an argument: in one letter, as a word, and as a word before `=`.
const UNSET: [&[u8]; 3] = [b"-u", b"--unset", b"--unset="];
const CHDIR: [&[u8]; 3] = [b"-C", b"--chdir", b"--chdir="];
const ARGV0: [&[u8]; 3] = [b"-a", b"--argv0", b"--argv0="];

/// The program, or `None` if env runs the script itself once more. The argument is the rest of the
/// line, which the kernel hands over as one word; the folders are those of PATH.
pub(super) fn program(argument: &[u8], folders: &str) -> Result<Option<PathBuf>, String> {
    if let Some(split) = Call::split(argument, folders) {
        return split.program();
    }
    match argument {
        [] => Ok(None),
        [b'-', ..] => Err(unknown(argument)),
        _ if argument.contains(&b'=') => Ok(None),
        name => found(name, folders).map(Some),
    }
}

/// What `-S` makes of its argument.
struct Call<'a> {
    rest: &'a [u8],
    /// Where env looks for the program.
    folders: &'a str,
}

impl<'a> Call<'a> {
    /// `-S` with its argument, also after other letters (`-vS`) and as `--split-string=`.
    fn split(argument: &'a [u8], folders: &'a str) -> Option<Self> {
        if let Some(rest) = argument.strip_prefix(b"--split-string=") {
            return Some(Self { rest, folders });
        }
        let letters = argument.strip_prefix(b"-")?;
        let (flags, rest) = letters.split_at(letters.iter().position(|letter| *letter == b'S')?);
        let is_known = flags.iter().all(|flag| b"iv".contains(flag));
        let folders = match flags.contains(&b'i') {
            true => WITHOUT_PATH,
            false => folders,
        };
        let rest = rest.strip_prefix(b"S")?;
        is_known.then_some(Self { rest, folders })
    }

    fn program(mut self) -> Result<Option<PathBuf>, String> {
        let mut word = self.next()?;
        while let Some(option) = word.filter(|word| word.starts_with(b"-")) {
            let is_last = option == b"--";
            if !is_last {
                self.option(option)?;
            }
            word = self.next()?;
            if is_last {
                break;
            }
        }
        while let Some(variable) = word.filter(|word| word.contains(&b'=')) {
            if variable.starts_with(b"PATH=") {
                return Err("it sets PATH".to_owned());
            }
            word = self.next()?;
        }
        word.map(|name| found(name, self.folders)).transpose()
    }

    fn option(&mut self, option: &'a [u8]) -> Result<(), String> {
        let begins = |with: &&[u8]| option.starts_with(with);
        if EMPTY.contains(&option) {
            self.folders = WITHOUT_PATH;
        } else if let Some(name) = self.argument(option, UNSET)? {
            if name == PATH {
                self.folders = WITHOUT_PATH;
            }
        } else {
            let is_known = PLAIN.contains(&option)
                || SIGNALS.iter().any(begins)
                || self.argument(option, CHDIR)?.is_some()
                || self.argument(option, ARGV0)?.is_some();
            if !is_known {
                return Err(unknown(option));
            }
        }
        Ok(())
    }

    /// The argument of an option, in the same word or the next one; `None` for another option.
    fn argument(
        &mut self,
        option: &'a [u8],
        [letter, word, before]: [&[u8]; 3],
    ) -> Result<Option<&'a [u8]>, String> {
        if option == letter || option == word {
            return match self.next()? {
                Some(argument) => Ok(Some(argument)),
                None => Err(format!("{} has no argument", option.escape_ascii())),
            };
        }
        let attached = option.strip_prefix(before);
        Ok(attached.or_else(|| option.strip_prefix(letter)))
    }

    /// The next word. env changes a word with quotes, a backslash or a dollar sign, and ends at a
    /// word that begins with `#`.
    fn next(&mut self) -> Result<Option<&'a [u8]>, String> {
        let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b;
        let Some(start) = self.rest.iter().position(|byte| !is_space(byte)) else {
            self.rest = &[];
            return Ok(None);
        };
        let (_, from) = self.rest.split_at(start);
        let end = from.iter().position(is_space).unwrap_or(from.len());
        let (word, rest) = from.split_at(end);
        self.rest = rest;
        let is_changed =
            word.starts_with(b"#") || word.iter().any(|byte| br#""'\$"#.contains(byte));
        match is_changed {
            true => Err(format!("env changes the word {}", word.escape_ascii())),
            false => Ok(Some(word)),
        }
    }
}

fn unknown(option: &[u8]) -> String {
    format!("it has the option {} of env", option.escape_ascii())
}

/// The first program of this name in these folders that may be executed, as execvp(3) finds it.
fn found(name: &[u8], folders: &str) -> Result<PathBuf, String> {
    let (path, shown) = (Path::new(OsStr::from_bytes(name)), name.escape_ascii());
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    if name.contains(&b'/') {
        return Err(format!("{shown} is relative to a folder that is not known"));
    }
    let runs = |path: &PathBuf| path.is_file() && access(path, AccessFlags::X_OK).is_ok();
    let mut paths = folders
        .split(':')
        .map(|folder| Path::new(folder).join(path));
    paths
        .find(runs)
        .ok_or_else(|| format!("env finds no program {shown} in {folders}"))
}
