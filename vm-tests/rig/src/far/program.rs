//! A program that runs for a pod: its files, its log, its process.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use far_pod::{Message, receive};
use testkit::process::Process;

use super::network::Network;

/// In a mount namespace of its own, the folder given first is /etc. Each of these programs becomes
/// the next one, so all are one process.
const SCRIPT: &str = "mount --bind \"$0\" /etc && exec \"$@\"";

/// What a pod wants to run.
#[derive(Debug, Default)]
pub struct Wanted {
    /// The image, as `etcd:3.6.6-0`.
    pub image: String,
    /// The boot of the guest.
    pub boot: String,
    /// The command line.
    words: Vec<String>,
    /// The files that the pod has, by path.
    files: Vec<(String, Vec<u8>)>,
}

impl Wanted {
    /// Reads on until the pod says that this is all.
    ///
    /// # Errors
    ///
    /// Fails when the pod ends before that, or says something else.
    pub fn of(image: String, line: &TcpStream) -> Result<Self> {
        let mut this = Self {
            image,
            ..Self::default()
        };
        loop {
            match receive(line)? {
                Message::Boot(boot) => this.boot = boot,
                Message::Word(word) => this.words.push(word),
                Message::File(path, content) => this.files.push((path, content)),
                Message::Run => return Ok(this),
                other => bail!("{} says {other:?} before it runs", this.image),
            }
        }
    }

    /// The name in the image's.
    #[must_use]
    pub fn name(&self) -> &str {
        let name = self.image.split(':').next();
        name.unwrap_or_default()
    }

    /// Starts it, with its files in `folder` and its output in `log`.
    ///
    /// # Errors
    ///
    /// Fails when a file cannot be written or the program not be started.
    pub fn start(
        &self,
        program: &Path,
        network: &Network,
        folder: &Path,
        log: &Path,
    ) -> Result<Process> {
        self.lay_out(folder)?;
        let mut words = network.entrance();
        let mounts = ["unshare", "--mount", "--propagation", "private", "--"];
        words.extend(mounts.map(str::to_owned));
        words.extend(["sh", "-c", SCRIPT].map(str::to_owned));
        words.push(folder.join("etc").display().to_string());
        words.push(program.display().to_string());
        words.extend(self.words.iter().skip(1).cloned());
        Process::start(Path::new("nsenter"), &words, log)
    }

    fn lay_out(&self, folder: &Path) -> Result<()> {
        let etc = folder.join("etc");
        fs::create_dir_all(&etc)?;
        fs::write(etc.join("hosts"), "127.0.0.1 localhost\n")?;
        for (path, content) in &self.files {
            let place = place(folder, path)?;
            fs::create_dir_all(place.parent().context("a file in no folder")?)?;
            fs::write(&place, content)?;
        }
        Ok(())
    }
}

fn place(folder: &Path, path: &str) -> Result<PathBuf> {
    let below = path.strip_prefix('/').unwrap_or_default();
    let is_below = below.starts_with("etc/") && !below.split('/').any(|part| part == "..");
    ensure!(is_below, "a pod wants to have {path:?}");
    Ok(folder.join(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_pod_stay_below_its_own_etc() {
        let folder = Path::new("/tmp/x");
        let found = place(folder, "/etc/kubernetes/pki/ca.crt").unwrap();
        assert_eq!(found, Path::new("/tmp/x/etc/kubernetes/pki/ca.crt"));
        for path in ["/etc/../root/a", "/root/a", "etc/a", ""] {
            assert!(place(folder, path).is_err(), "{path}");
        }
    }
}
