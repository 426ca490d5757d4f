//! docker-registry as a process on loopback.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::tools;

/// user:secret, as htpasswd -B writes it.
pub const USER: &str = "user:$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n";

pub struct Server {
    pub port: u16,
    folder: TempDir,
    child: Child,
}

impl Server {
    /// With the users of an htpasswd file, or open to all.
    pub fn start(users: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config.yml");
        let mut text = format!(
            "version: 0.1\nlog: {{ level: info }}\nstorage: {{ filesystem: {{ rootdirectory: {}/store }} }}\nhttp: {{ addr: \"127.0.0.1:0\" }}\n",
            folder.path().display()
        );
        if let Some(users) = users {
            let path = folder.path().join("users");
            fs::write(&path, users).unwrap();
            text += &format!(
                "auth: {{ htpasswd: {{ realm: test, path: {} }} }}\n",
                path.display()
            );
        }
        fs::write(&config, text).unwrap();
        let log = config.with_extension("log");
        let mut child = run(&config, &log);
        Self {
            port: port(&mut child, &log),
            folder,
            child,
        }
    }

    pub fn go_away(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The stored blob of a digest, as `sha256:…`.
    pub fn blob(&self, digest: &str) -> PathBuf {
        let digits = digest.strip_prefix("sha256:").unwrap();
        let store = self
            .folder
            .path()
            .join("store/docker/registry/v2/blobs/sha256");
        store.join(&digits[..2]).join(digits).join("data")
    }

    /// The digests of an image's layers, the commit's own first.
    pub fn layers(&self, image: &str) -> Vec<String> {
        let (_, digest) = image.split_once('@').unwrap();
        let text = fs::read(self.blob(digest)).unwrap();
        let manifest: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let layers = manifest["layers"].as_array().unwrap().iter();
        layers
            .map(|layer| layer["digest"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn run(config: &Path, log: &Path) -> Child {
    Command::new(tools().join("docker-registry"))
        .arg("serve")
        .arg(config)
        .stdout(Stdio::null())
        .stderr(File::create(log).unwrap())
        .spawn()
        .unwrap()
}

impl Drop for Server {
    fn drop(&mut self) {
        // Gone already where a test has had it go.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The port that the kernel gave the server, which the server logs once it listens. A port that the
/// test chose before could belong to another program by then, and the test would ask that one.
fn port(child: &mut Child, log: &Path) -> u16 {
    let begun = Instant::now();
    loop {
        let said = fs::read_to_string(log).unwrap();
        if let Some(port) = told(&said) {
            return port;
        }
        let ended = child.try_wait().unwrap();
        let waits = ended.is_none() && begun.elapsed() < Duration::from_secs(60);
        assert!(waits, "docker-registry does not listen ({ended:?}): {said}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A line that is being written is not read yet.
fn told(said: &str) -> Option<u16> {
    let (_, rest) = said.split_once("listening on 127.0.0.1:")?;
    let (port, _) = rest.split_once('"')?;
    port.parse().ok()
}
