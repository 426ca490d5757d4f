//! A program that runs next to the rig. Its output goes to a log file, and it never outlives the
//! rig.
//!
//! A Ctrl-C on the terminal reaches only the rig, which collects evidence before it ends the
//! programs.

use std::fs::{File, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

/// How often it checks a frozen program, and the pause between two checks: two seconds in all.
const FREEZE_LOOKS: u32 = 400;
const FREEZE_PAUSE: Duration = Duration::from_millis(5);

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
    ///
    /// Fails when the log cannot be opened or the program cannot be started.
    pub fn start(program: &Path, arguments: &[String], log: &Path) -> Result<Self> {
        let name = program
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let output = append(log)?;
        // The kernel kills the program when the thread that started it ends. So even `kill -9` of
        // the rig leaves no process.
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "--"])
            .arg(program)
            .args(arguments);
        // The terminal signals its foreground group, which is the rig's.
        command.process_group(0);
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

    /// Succeeds while the program runs.
    ///
    /// # Errors
    ///
    /// Fails when it has ended. The message names the log and repeats its last lines.
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
    ///
    /// Fails when the system cannot say.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Sends it a signal by name (`STOP`, `CONT`, ...).
    ///
    /// # Errors
    ///
    /// Fails when it is gone.
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

    /// Stops it, and returns when all its threads have stopped. The signal takes effect with a
    /// delay, and a running thread would still answer.
    ///
    /// # Errors
    ///
    /// Fails when it is gone or does not stop.
    pub fn freeze(&self) -> Result<()> {
        self.signal("STOP")?;
        for _ in 0..FREEZE_LOOKS {
            if self.is_frozen()? {
                return Ok(());
            }
            thread::sleep(FREEZE_PAUSE);
        }
        bail!("{} (pid {}) does not stop", self.name, self.pid())
    }

    fn is_frozen(&self) -> Result<bool> {
        for task in std::fs::read_dir(format!("/proc/{}/task", self.pid()))? {
            // A thread that ended meanwhile has no file and answers nothing.
            let stat = std::fs::read_to_string(task?.path().join("stat")).unwrap_or_default();
            // proc_pid_stat(5): the state follows the name, which is in brackets and may hold any
            // character.
            let state = stat
                .rsplit_once(") ")
                .and_then(|(_, rest)| rest.chars().next());
            if state.is_some_and(|state| state != 'T') {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Kills it at once, as a power cut would, and waits until it is gone.
    pub fn kill(&mut self) {
        // Both fail only if it is gone already, which is the goal.
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

/// Starts every program from one thread that lives as long as the rig. The death signal follows the
/// starting thread, and a test's own thread ends long before the control plane that it shares.
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
