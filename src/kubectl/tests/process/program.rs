//! The program as a shell runs it: in a pipe, or on a terminal.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;

use tempfile::TempDir;

use crate::PATIENCE;
use crate::server::Server;

/// The program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-careen");

/// The words of its command line.
fn line(server: &Server, words: &str) -> Vec<String> {
    let kubeconfig = server.kubeconfig().display().to_string();
    let begin = ["--kubeconfig".to_owned(), kubeconfig];
    let words = words.split(' ').map(str::to_owned);
    begin.into_iter().chain(words).collect()
}

/// It, with nothing from the surroundings that it heeds.
pub fn program(server: &Server, words: &str) -> Command {
    let mut command = Command::new("env");
    // A shell that runs the tests in the background may make it ignore them.
    command.args(["--default-signal=INT,TERM,HUP", PROGRAM]);
    command.args(line(server, words));
    calm(&mut command);
    command
}

fn calm(command: &mut Command) {
    command.env_remove("NO_COLOR").env("TERM", "xterm");
    command.stdin(Stdio::null());
}

/// Runs it to its end. What hangs is ended, and seen by its code.
pub fn run(command: &mut Command) -> Output {
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.unwrap();
    let pid = child.id().to_string();
    let (say, over) = channel();
    let waiting = thread::spawn(move || {
        let ended = over.recv_timeout(PATIENCE);
        if ended.is_err() {
            kill("KILL", &pid);
        }
    });
    let output = child.wait_with_output().unwrap();
    let _ = say.send(());
    waiting.join().unwrap();
    output
}

/// Its code.
pub fn code(output: &Output) -> i32 {
    let said = String::from_utf8_lossy(&output.stderr);
    output
        .status
        .code()
        .unwrap_or_else(|| panic!("{output:?}: {said}"))
}

/// It on a terminal of 100 columns, which `script` lends; before that the terminal's shell does
/// something else.
fn terminal(server: &Server, words: &str, setting: &str, before: &str) -> Command {
    let line = line(server, words).join(" ");
    let inner =
        format!("{before} stty cols 100 rows 30 -echo; exec env {setting} {PROGRAM} {line}");
    let mut script = Command::new("script");
    script.args([
        "--quiet",
        "--return",
        "--flush",
        "--command",
        &inner,
        "/dev/null",
    ]);
    calm(&mut script);
    script.stdin(Stdio::piped());
    script
}

/// Runs it on a terminal, where somebody types this; what came to the screen, and its code.
pub fn on_a_terminal(server: &Server, words: &str, setting: &str, typed: &str) -> (String, i32) {
    let mut script = terminal(server, words, setting, "");
    let mut child = script.stdout(Stdio::piped()).spawn().unwrap();
    let mut keyboard = child.stdin.take().unwrap();
    keyboard.write_all(typed.as_bytes()).unwrap();
    let mut screen = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut screen)
        .unwrap();
    drop(keyboard);
    (screen, child.wait().unwrap().code().unwrap())
}

/// One that goes on, on a terminal whose size can be changed.
pub struct Watched {
    /// The program.
    pub running: Running,
    folder: TempDir,
}

impl Watched {
    /// Starts it.
    pub fn start(server: &Server, words: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tty = folder.path().join("tty");
        let before = format!("tty >{};", tty.display());
        Self {
            running: Running::start(&mut terminal(server, words, "", &before)),
            folder,
        }
    }

    /// Gives its terminal so many columns.
    pub fn resize(&self, columns: u16) {
        let tty = std::fs::read_to_string(self.folder.path().join("tty")).unwrap();
        let columns = columns.to_string();
        let stty = Command::new("stty")
            .args(["-F", tty.trim(), "cols", &columns])
            .status();
        assert!(stty.unwrap().success());
    }
}

impl Drop for Watched {
    /// `script` tells what it runs. Its terminal's end alone would not: nobody hears of a hang-up
    /// whom nohup(1) has started.
    fn drop(&mut self) {
        self.running.signal("TERM");
        let _ = self.running.child.wait();
    }
}

/// One that goes on until it is told to end; it ends with its test.
pub struct Running {
    child: Child,
    /// Until this is dropped somebody sees to it that it ends.
    _guard: Sender<()>,
    lines: Option<BufReader<ChildStdout>>,
    /// What it has printed.
    pub out: String,
}

impl Running {
    /// Starts it in a pipe.
    pub fn start(command: &mut Command) -> Self {
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.unwrap();
        Self {
            _guard: end_in_time(child.id()),
            lines: child.stdout.take().map(BufReader::new),
            child,
            out: String::new(),
        }
    }

    /// Reads until it has printed this.
    pub fn until(&mut self, words: &str) {
        let lines = self.lines.as_mut().unwrap();
        while !self.out.contains(words) {
            let read = lines.read_line(&mut self.out).unwrap();
            assert_ne!(read, 0, "it has ended without {words:?}: {}", self.out);
        }
    }

    /// Reads no more.
    pub fn hang_up(&mut self) {
        self.lines = None;
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        kill(name, &self.child.id().to_string());
    }

    /// Waits for its end: its code, none where a signal has ended it, and its talk.
    pub fn end(self) -> (Option<i32>, String) {
        let (status, talk) = self.status();
        (status.code(), talk)
    }

    /// The same, with the signal.
    pub fn end_by_signal(self) -> (Option<i32>, String) {
        let (status, talk) = self.status();
        (status.signal(), talk)
    }

    fn status(mut self) -> (ExitStatus, String) {
        let mut talk = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut talk).unwrap();
        (self.child.wait().unwrap(), talk)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ends what continues for longer than a test may wait, so that its reader sees the end.
fn end_in_time(pid: u32) -> Sender<()> {
    let (guard, over) = channel();
    thread::spawn(move || {
        if over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            kill("KILL", &pid.to_string());
        }
    });
    guard
}

fn kill(signal: &str, pid: &str) {
    let sent = Command::new("kill").args(["-s", signal, pid]).status();
    assert!(sent.unwrap().success());
}
