//! Debian's containerd, as in the rig's images, in namespaces of its own. It ends with the test.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use testkit::debian;

/// Longer than a loaded machine takes to start containerd.
const PATIENCE: Duration = Duration::from_secs(60);

const LOOK: Duration = Duration::from_millis(20);

/// What pods have as their network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// A bridge.
    Bridge,
    /// A plugin whose program is gone.
    WithoutPlugin,
    /// Nothing.
    Nothing,
}

impl Network {
    /// The configuration that a plugin of this network has.
    fn configuration(self) -> Option<String> {
        let plugin = match self {
            Self::Bridge => "bridge",
            Self::WithoutPlugin => "gone",
            Self::Nothing => return None,
        };
        Some(format!(
            r#"{{"cniVersion":"1.0.0","name":"rig","plugins":[{{"type":"{plugin}","bridge":"cni0","isGateway":true,
            "ipam":{{"type":"host-local","ranges":[[{{"subnet":"10.244.0.0/24"}}]]}}}}]}}"#
        ))
    }
}

/// A containerd that runs.
pub struct Containerd {
    process: Child,
    folder: TempDir,
}

impl Drop for Containerd {
    fn drop(&mut self) {
        // With its first process, all of the namespace ends.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Makes a root of the rig's Debian that only this test changes, and starts containerd there.
const SCRIPT: &str = r#"set -eu
root=$1 images=$2 work=$3
mount --make-rprivate /
mkdir "$work/mnt" && mount -t tmpfs tmpfs "$work/mnt" && cd "$work/mnt"
mkdir upper work root
mount -t overlay overlay -o "lowerdir=$root,upperdir=$PWD/upper,workdir=$PWD/work" root
cd root
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mount -t tmpfs tmpfs run
mkdir -p run/netns run/containerd etc/cni/net.d etc/containerd var/lib/containerd
mount --bind "$work/run" run/containerd
mount -t tmpfs tmpfs var/lib/containerd
cp "$images" usr/share/images.tar
cp "$work/config.toml" etc/containerd/
[ ! -e "$work/10-rig.conflist" ] || cp "$work/10-rig.conflist" etc/cni/net.d/
mkdir old
pivot_root . old
exec chroot . sh -c 'umount -l /old
  containerd & until ctr version >/dev/null 2>&1; do sleep 0.1; done
  ctr -n k8s.io images import /usr/share/images.tar && touch /run/containerd/ready && wait'
"#;

impl Containerd {
    /// Starts it, and imports the rig's images.
    ///
    /// # Errors
    ///
    /// Fails when the rig's Debian cannot be made, or containerd does not start.
    pub fn start(sandbox_image: &str, network: Network) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let work = folder.path();
        fs::create_dir(work.join("run"))?;
        fs::write(work.join("config.toml"), configuration(sandbox_image))?;
        if let Some(text) = network.configuration() {
            fs::write(work.join("10-rig.conflist"), text)?;
        }
        let log = fs::File::create(work.join("log"))?;
        let process = Command::new("unshare")
            .args([
                "--mount",
                "--net",
                "--pid",
                "--ipc",
                "--uts",
                "--fork",
                "--kill-child",
            ])
            .args(["sh", "-c", SCRIPT, "sh"])
            .args([debian::root()?, debian::containers()?, work.to_owned()])
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("cannot run unshare; this test needs root")?;
        let mut this = Self { process, folder };
        this.wait_until_ready()?;
        Ok(this)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let begun = Instant::now();
        while !self.state("ready").exists() {
            let ended = self.process.try_wait()?;
            ensure!(
                ended.is_none() && begun.elapsed() < PATIENCE,
                "containerd does not start: {}",
                fs::read_to_string(self.folder.path().join("log"))?
            );
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.state("containerd.sock")
    }

    /// The archive that was imported.
    pub fn images() -> Result<PathBuf> {
        debian::containers()
    }

    /// Debian's root, whose `ctr` fits this containerd.
    pub fn root() -> Result<PathBuf> {
        debian::root()
    }

    /// What `ctr` prints about the kubelet's images.
    pub fn ctr(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(Self::root()?.join("usr/bin/ctr"));
        command.arg("--address").arg(self.socket());
        let output = command
            .args(["-n", "k8s.io", "images"])
            .args(arguments)
            .output()?;
        ensure!(output.status.success(), "{output:?}");
        Ok(String::from_utf8(output.stdout)?)
    }

    /// The ids of the sandboxes that there are.
    pub fn sandboxes(&self) -> Result<Vec<String>> {
        let folder = self.state("io.containerd.grpc.v1.cri/sandboxes");
        let Ok(entries) = fs::read_dir(folder) else {
            return Ok(Vec::new());
        };
        entries
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    fn state(&self, path: &str) -> PathBuf {
        self.folder.path().join("run").join(path)
    }
}

/// A machine of CI may not let root lower a process's OOM score.
fn configuration(sandbox_image: &str) -> String {
    format!(
        "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\nsandbox_image = \"{sandbox_image}\"\n\
         restrict_oom_score_adj = true\n\
         [plugins.\"io.containerd.grpc.v1.cri\".cni]\nbin_dir = \"/usr/lib/cni\"\nconf_dir = \"/etc/cni/net.d\"\n"
    )
}
