//! The namespaces of one member, from its boot until its power is cut.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testkit::process::{Process, tail};

const SCRIPT: &str = include_str!("member.sh");

/// How long a boot may take. It is a few mounts; the limit is long because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

const LOOK: Duration = Duration::from_millis(5);

/// A booted member: all its processes are in one PID namespace, which ends with the first of them.
#[derive(Debug)]
pub struct Namespaces {
    outside: Process,
    first: Pid,
}

impl Namespaces {
    /// Boots a machine of this name whose /etc and /var are kept below `state`.
    ///
    /// # Errors
    ///
    /// Fails without root, or when something cannot be mounted; the message has the log.
    pub fn boot(state: &Path, name: &str) -> Result<Self> {
        for layer in ["etc", "etc.work", "var", "var.work"] {
            fs::create_dir_all(state.join(layer))?;
        }
        let log = state.join("boot.log");
        let folder = state.display().to_string();
        let arguments = [
            "--net",
            "--mount",
            "--uts",
            "--ipc",
            "--pid",
            "--fork",
            "--kill-child",
            "--propagation",
            "private",
            "sh",
            "-c",
            SCRIPT,
            "sh",
            &folder,
            name,
        ];
        let outside = Process::start(Path::new("unshare"), &arguments.map(str::to_owned), &log)?;
        let first = wait("its first process", &log, || child_of(outside.pid()))?;
        let this = Self { outside, first };
        wait("its boot", &log, || {
            this.path("/run/booted").exists().then_some(())
        })?;
        Ok(this)
    }

    /// The process id of the first process, as the host sees it.
    #[must_use]
    pub fn first(&self) -> Pid {
        self.first
    }

    /// A path of the member, for programs outside.
    #[must_use]
    pub fn path(&self, inside: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{inside}", self.first))
    }

    /// `nsenter` into all of them; a program and its arguments are to follow.
    #[must_use]
    pub fn enter(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.args(self.entrance());
        command
    }

    /// The arguments of `nsenter`.
    #[must_use]
    pub fn entrance(&self) -> Vec<String> {
        let target = format!("--target={}", self.first);
        let kinds = [
            "--net", "--mount", "--uts", "--ipc", "--pid", "--wd=/", "--",
        ];
        std::iter::once(target)
            .chain(kinds.map(str::to_owned))
            .collect()
    }
}

impl Drop for Namespaces {
    /// The first process is waited for by the one outside, which therefore ends last.
    fn drop(&mut self) {
        if matches!(self.outside.ended(), Ok(None)) {
            let _ = kill(self.first, Signal::SIGKILL);
        }
        let begun = Instant::now();
        while matches!(self.outside.ended(), Ok(None)) && begun.elapsed() < PATIENCE {
            thread::sleep(LOOK);
        }
    }
}

/// The first child of a process that is seen in /proc.
pub fn child_of(parent: u32) -> Option<Pid> {
    let all = fs::read_dir("/proc").ok()?;
    let mut ids = all
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.find(|id: &i32| parent_of(*id) == Some(parent))
        .map(Pid::from_raw)
}

/// proc_pid_stat(5): the name is in brackets and may hold any character; state and parent follow.
fn parent_of(id: i32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}

fn wait<T>(what: &str, log: &Path, look: impl Fn() -> Option<T>) -> Result<T> {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        let text = || format!("no sign of {what} after {PATIENCE:?}: {}", tail(log));
        ensure!(begun.elapsed() < PATIENCE, text());
        thread::sleep(LOOK);
    }
}
