//! A program that runs beside the rig: its output goes to a log file, and it never outlives the rig.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use anyhow::{Context, Result, bail, ensure};

/// A running program. Dropping it kills it (SIGKILL) and waits for it.
#[derive(Debug)]
pub struct Process {
    name: String,
    log: PathBuf,
    child: Child,
}

impl Process {
    /// Starts `program` with `arguments`, standard output and error appended to `log`.
    ///
    /// # Errors
    /// When the log cannot be opened or the program cannot be started.
    pub fn start(program: &Path, arguments: &[String], log: &Path) -> Result<Self> {
        let name = program
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let output = append(log)?;
        // The kernel kills the program when the thread that started it ends, so that even `kill -9` of the rig leaves nothing behind.
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "--"])
            .arg(program)
            .args(arguments);
        command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        let child =
            spawn(command).with_context(|| format!("cannot start {}", program.display()))?;
        Ok(Self {
            name,
            log: log.to_owned(),
            child,
        })
    }

    /// The process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ok while the program runs.
    ///
    /// # Errors
    /// When it has ended: names the log and repeats its last lines.
    pub fn check(&mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            bail!(
                "{} ended ({status}); the end of {}:\n{}",
                self.name,
                self.log.display(),
                tail(&self.log)
            );
        }
        Ok(())
    }

    /// Its exit status once it has ended by itself.
    ///
    /// # Errors
    /// When the system cannot say.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Sends it a signal by name (`STOP`, `CONT`, ...).
    ///
    /// # Errors
    /// When it is gone.
    pub fn signal(&self, name: &str) -> Result<()> {
        let status = Command::new("kill")
            .args(["-s", name, &self.pid().to_string()])
            .status()?;
        ensure!(
            status.success(),
            "{} (pid {}) took no SIG{name}: {status}",
            self.name,
            self.pid()
        );
        Ok(())
    }

    /// Kills it at once, as a power cut would, and waits until it is gone.
    pub fn kill(&mut self) {
        // Both fail only when it is gone already, which is what was asked for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The last lines of a log, for messages.
#[must_use]
pub fn tail(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

fn append(log: &Path) -> Result<File> {
    let file = OpenOptions::new().create(true).append(true).open(log);
    file.with_context(|| format!("cannot write {}", log.display()))
}

type Answer = std::io::Result<Child>;

/// Starts every program from one thread that lives as long as the rig: the death signal follows the starting thread, and a test's
/// own thread ends long before the control plane that it shares with other tests.
fn spawn(command: Command) -> Answer {
    static STARTER: OnceLock<Sender<(Command, Sender<Answer>)>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (send, receive) = channel::<(Command, Sender<Answer>)>();
        thread::spawn(move || {
            for (mut command, answer) in receive {
                let _ = answer.send(command.spawn());
            }
        });
        send
    });
    let (send, receive) = channel();
    let gone = |_| std::io::Error::other("the thread that starts programs is gone");
    starter
        .send((command, send))
        .map_err(|_| std::io::Error::other("the thread that starts programs is gone"))?;
    receive.recv().map_err(gone)?
}
