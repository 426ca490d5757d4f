//! docker-registry as a process on loopback.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
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
        let port = free_port();
        let config = folder.path().join("config.yml");
        let mut text = format!(
            "version: 0.1\nlog: {{ level: error }}\nstorage: {{ filesystem: {{ rootdirectory: {}/store }} }}\nhttp: {{ addr: \"127.0.0.1:{port}\" }}\n",
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
        let child = run(&config);
        let server = Self {
            port,
            folder,
            child,
        };
        server.wait();
        server
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

    fn wait(&self) {
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "docker-registry does not listen"
            );
            thread::sleep(Duration::from_millis(50));
        }
    }
}

fn run(config: &std::path::Path) -> Child {
    Command::new(tools().join("docker-registry"))
        .arg("serve")
        .arg(config)
        .stdout(Stdio::null())
        .stderr(File::create(config.with_extension("log")).unwrap())
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

/// It may be taken by somebody else before it is used; then the server does not start, and says so.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}
