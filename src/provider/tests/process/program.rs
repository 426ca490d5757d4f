//! A process of the program, and its log.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use provider::tls::{Pair, make};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The maximum duration of any wait.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The program. Dropping it kills it.
pub struct Program {
    pub hooks: SocketAddr,
    pub metrics: SocketAddr,
    /// The folder of its certificate.
    pub folder: TempDir,
    child: Child,
    log: Receiver<Value>,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A certificate for this machine, from its own authority.
pub fn pair() -> Pair {
    make(None, &["127.0.0.1".to_owned()], provider::clock::now()).unwrap()
}

/// Writes a pair into a folder as a Secret's volume has it.
pub fn lay(folder: &Path, pair: &Pair) {
    let files = [
        ("tls.crt", &pair.certificate),
        ("tls.key", &pair.key),
        ("ca.crt", &pair.authorities),
    ];
    for (name, content) in files {
        std::fs::write(folder.join(name), content).unwrap();
    }
}

/// The kubeconfig of a management cluster that never answers.
fn kubeconfig() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{ "name": "a", "cluster": { "server": "http://127.0.0.1:1" } }],
        "contexts": [{ "name": "a", "context": { "cluster": "a", "user": "a" } }],
        "users": [{ "name": "a", "user": {} }],
    })
}

impl Program {
    /// Starts it with a certificate in a folder and these flags, and waits until it logs its
    /// addresses.
    pub fn start(pair: &Pair, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        lay(folder.path(), pair);
        let config = folder.path().join("kubeconfig");
        std::fs::write(&config, kubeconfig().to_string()).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_careen-provider"))
            .args(["--log-json", "--hook-address", "127.0.0.1:0"])
            .args(["--metrics-address", "127.0.0.1:0", "--kubeconfig"])
            .arg(&config)
            .arg("--tls-dir")
            .arg(folder.path())
            .args(flags)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (said, log) = channel();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let line = serde_json::from_str(&line).expect("a line of JSON");
                if said.send(line).is_err() {
                    break;
                }
            }
        });
        let serves = until(&log, "careen-provider serves");
        let address = |key: &str| serves["fields"][key].as_str().unwrap().parse().unwrap();
        Self {
            hooks: address("hooks"),
            metrics: address("metrics"),
            folder,
            child,
            log,
        }
    }

    /// Waits for a line of its log.
    pub fn until_it_says(&self, message: &str) -> Value {
        until(&self.log, message)
    }

    /// Waits until it warns about its certificate.
    pub fn until_it_warns(&self) -> String {
        let is_it = |line: &Value| {
            let message = line["fields"]["message"].as_str().unwrap_or_default();
            line["level"] == "WARN" && message.contains("certificate")
        };
        let line = await_line(&self.log, "of its certificate", is_it);
        line["fields"]["message"].as_str().unwrap().to_owned()
    }

    /// Terminates it as Kubernetes ends a pod.
    pub fn terminate(&self) {
        let id = i32::try_from(self.child.id()).unwrap();
        kill(Pid::from_raw(id), Signal::SIGTERM).unwrap();
    }

    /// Its exit status.
    pub fn end(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

fn until(log: &Receiver<Value>, message: &str) -> Value {
    await_line(log, message, |line| line["fields"]["message"] == message)
}

fn await_line(log: &Receiver<Value>, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
    let (mut seen, end) = (Vec::new(), Instant::now() + PATIENCE);
    // It keeps logging about the API server that it cannot reach.
    while let Ok(line) = log.recv_timeout(end.saturating_duration_since(Instant::now())) {
        if is_it(&line) {
            return line;
        }
        seen.push(line);
    }
    panic!("it never spoke {what:?}: {seen:?}");
}
