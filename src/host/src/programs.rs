//! The programs of the image that Careen starts. Each is found by its path in the image's own
//! folders, never by a PATH search.
//!
//! systemd's default PATH begins with /usr/local. On OSTree /usr/local is /var/usrlocal, which
//! outlives every image: an old kubeadm there would run in place of the image's in every trial.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use thiserror::Error;

use crate::trust;

/// The folders of an image's own programs, below its root, in search order.
const FOLDERS: [&str; 3] = ["usr/bin", "usr/sbin", "usr/libexec"];

/// The folder below /usr that does not belong to the image.
const LOCAL: &str = "usr/local";

/// PATH for the image's programs, used by the programs that they start.
pub const PATH: &str = "/usr/sbin:/usr/bin";

/// The prefix of the variables that make the dynamic linker load other code (ld.so(8)).
const LINKER: &[u8] = b"LD_";

/// Other variables that make a program run other code, or contact another cluster, than its own
/// files say.
const MISLEADING: [&str; 4] = ["BASH_ENV", "ENV", "GCONV_PATH", "KUBECONFIG"];

/// How much of a message is repeated, in characters. A message of the container runtime names the
/// image in its first 150 characters and the cause in its last 250.
pub const SHOWN: usize = 400;

/// A program that Careen starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Program {
    Bzip2,
    Cat,
    Ctr,
    Gzip,
    Journalctl,
    Kubeadm,
    Lz4,
    Ostree,
    Rpm,
    Setpriv,
    Skopeo,
    Systemctl,
    Xz,
    Zstd,
}

/// Why a system does not have a program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Missing {
    /// No folder of the image has it.
    #[error("{name} is not in /usr/bin, /usr/sbin or /usr/libexec. Build an image that has it")]
    Absent {
        /// The program.
        name: &'static str,
    },
    /// The image has a link that leads out of the image.
    #[error("{} leads to {}, which is not in the image. Build an image that has the program itself", .link.display(), .target.display())]
    Outside {
        /// The link.
        link: PathBuf,
        /// The file that it leads to.
        target: PathBuf,
    },
}

impl From<Missing> for io::Error {
    fn from(missing: Missing) -> Self {
        Self::new(io::ErrorKind::NotFound, missing)
    }
}

impl Program {
    /// The file name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bzip2 => "bzip2",
            Self::Cat => "cat",
            Self::Ctr => "ctr",
            Self::Gzip => "gzip",
            Self::Journalctl => "journalctl",
            Self::Kubeadm => "kubeadm",
            Self::Lz4 => "lz4",
            Self::Ostree => "ostree",
            Self::Rpm => "rpm",
            Self::Setpriv => "setpriv",
            Self::Skopeo => "skopeo",
            Self::Systemctl => "systemctl",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
        }
    }

    /// Its path in the system below this root.
    ///
    /// # Errors
    /// The system does not have it.
    pub fn below(self, root: &Path) -> Result<PathBuf, Missing> {
        let name = self.name();
        let paths = FOLDERS.map(|folder| root.join(folder).join(name));
        let mut outside = None;
        for link in paths.into_iter().filter(|path| path.is_file()) {
            match link.canonicalize() {
                Ok(target) if is_of_the_image(&target, root) => return Ok(link),
                Ok(target) => outside = outside.or(Some(Missing::Outside { link, target })),
                // It was removed in the meantime.
                Err(_) => {}
            }
        }
        Err(outside.unwrap_or(Missing::Absent { name }))
    }

    /// A command that runs the booted system's program in a clean environment.
    ///
    /// # Errors
    /// The booted system does not have it.
    pub fn command(self) -> Result<Command, Missing> {
        self.command_below(Path::new("/"))
    }

    /// A command that runs the program of the system below this root.
    ///
    /// # Errors
    /// That system does not have it.
    pub fn command_below(self, root: &Path) -> Result<Command, Missing> {
        let mut command = with_path(&self.below(root)?, PATH);
        for name in MISLEADING {
            command.env_remove(name);
        }
        Ok(command)
    }
}

/// On OSTree /usr/local is a link into /var, elsewhere a folder.
fn is_of_the_image(target: &Path, root: &Path) -> bool {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    target.starts_with(root.join("usr")) && !target.starts_with(root.join(LOCAL))
}

/// A command that runs a check or a hook.
#[must_use]
pub fn of_the_operator(path: &Path) -> Command {
    with_path(path, &trust::operators_path())
}

/// A command that runs a program of Careen, at this path.
#[must_use]
pub fn of_careen(path: &Path) -> Command {
    with_path(path, PATH)
}

/// A command with this PATH and no other variable, for a program of an image that is not booted.
#[must_use]
pub fn alone(program: &Path, path: &str) -> Command {
    let mut command = with_path(program, path);
    command.env_clear().env("PATH", path);
    command
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that starts a program, by its whole path"
)]
fn with_path(program: &Path, path: &str) -> Command {
    let mut command = Command::new(program);
    command.env("PATH", path);
    let inherited = std::env::vars_os().map(|(name, _)| name);
    for name in inherited.filter(|name| is_of_the_linker(name)) {
        command.env_remove(name);
    }
    command
}

fn is_of_the_linker(variable: &OsStr) -> bool {
    variable.as_bytes().starts_with(LINKER)
}

/// Whether a variable makes the programs that inherit it run other code, or contact another
/// cluster, than their own files say.
#[must_use]
pub fn misleads(variable: &OsStr) -> bool {
    is_of_the_linker(variable) || MISLEADING.iter().any(|name| *name == variable)
}

/// How a program ended, for display: its path, its exit status, and the last line of its standard
/// error.
#[must_use]
pub fn ended(program: &Path, status: ExitStatus, stderr: &[u8]) -> String {
    let program = program.display();
    let status = status
        .code()
        .map_or_else(|| status.to_string(), |code| format!("exit status {code}"));
    match last_line(stderr) {
        Some(line) => format!("{program} ended with {status}: {line}"),
        None => format!("{program} ended with {status} and wrote nothing to standard error"),
    }
}

/// The last non-empty line, without characters that control a terminal.
#[must_use]
pub fn last_line(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines().rev().map(shown);
    lines.find(|line| !line.is_empty())
}

/// A message of a program: what failed and why, as far as it fits.
#[must_use]
pub fn shown(message: &str) -> String {
    upgrade::sanitize::cut(message, SHOWN)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    /// A system with these files.
    fn system(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            put(&root.path().join(file));
        }
        root
    }

    fn put(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    #[test]
    fn a_program_is_found_in_the_folders_of_the_image() {
        for folder in FOLDERS {
            let file = format!("{folder}/kubeadm");
            let root = system(&[&file]);
            let found = Program::Kubeadm.below(root.path());
            assert_eq!(found, Ok(root.path().join(file)));
        }
    }

    #[test]
    fn a_program_in_usr_local_is_not_the_images() {
        let root = system(&["usr/local/bin/kubeadm", "usr/local/sbin/kubeadm"]);
        let name = "kubeadm";
        assert_eq!(
            Program::Kubeadm.below(root.path()),
            Err(Missing::Absent { name })
        );
    }

    #[test]
    fn a_link_out_of_the_image_is_refused_and_named() {
        for place in [
            "usr/local/bin/kubeadm",
            "var/usrlocal/bin/kubeadm",
            "opt/kubeadm",
        ] {
            let root = system(&[place]);
            fs::create_dir_all(root.path().join("usr/bin")).unwrap();
            let (link, target) = (root.path().join("usr/bin/kubeadm"), root.path().join(place));
            symlink(&target, &link).unwrap();
            let target = target.canonicalize().unwrap();
            let outside = Missing::Outside { link, target };
            assert_eq!(Program::Kubeadm.below(root.path()), Err(outside));
        }
    }

    #[test]
    fn a_link_within_the_image_is_followed() {
        let root = system(&["usr/lib/kubernetes/kubeadm"]);
        fs::create_dir_all(root.path().join("usr/bin")).unwrap();
        let link = root.path().join("usr/bin/kubeadm");
        symlink("../lib/kubernetes/kubeadm", &link).unwrap();
        assert_eq!(Program::Kubeadm.below(root.path()), Ok(link));
    }

    #[test]
    fn a_program_is_run_by_its_path_with_a_clean_environment() {
        let root = system(&["usr/bin/kubeadm"]);
        let command = Program::Kubeadm.command_below(root.path()).unwrap();
        assert_eq!(command.get_program(), root.path().join("usr/bin/kubeadm"));
        let set: Vec<_> = command.get_envs().collect();
        assert!(
            set.contains(&(OsStr::new("PATH"), Some(OsStr::new(PATH)))),
            "{set:?}"
        );
        for name in MISLEADING {
            assert!(set.contains(&(OsStr::new(name), None)), "{name}: {set:?}");
        }
        assert!(!PATH.contains("local") && PATH.split(':').all(|part| part.starts_with('/')));
    }

    #[test]
    fn variables_of_the_linker_are_not_inherited() {
        for name in ["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "KUBECONFIG"] {
            assert!(misleads(OsStr::new(name)), "{name}");
        }
        for name in ["HTTPS_PROXY", "LANG", "OLD_PATH", "INVOCATION_ID"] {
            assert!(!misleads(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn a_failure_names_path_status_and_last_line() {
        let path = Path::new("/usr/bin/kubeadm");
        let (failed, killed) = (ExitStatus::from_raw(1 << 8), ExitStatus::from_raw(9));
        let said = b"first\nno \x1b[2Jserver\n\n";
        assert_eq!(
            ended(path, failed, said),
            "/usr/bin/kubeadm ended with exit status 1: no  [2Jserver"
        );
        let long = format!("pull of os:9{}: no route\n", " retried".repeat(100));
        let long = ended(path, failed, long.as_bytes());
        assert!(long.contains("1: pull of os:9"), "{long}");
        assert!(long.ends_with(": no route"), "{long}");
        let silent = ended(path, killed, b"");
        assert!(
            silent.contains("signal: 9") && silent.contains("nothing"),
            "{silent}"
        );
    }
}
