//! The start of every scenario: a node that has joined and runs a pod, frozen together with its
//! cluster.
//!
//! It is made once (about 3 minutes) and kept in the cache under a key of all its inputs. A
//! scenario copies the cluster (20 MB), puts an overlay over the disk and continues in seconds.

mod users;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};
use testkit::control_plane::{self, ControlPlane, HOST_SEEN_FROM_GUEST, JOIN_TOKEN};
use testkit::programs;

use crate::emulator;
use crate::guest::Guest;
use crate::images::{self, DiskKind};
use crate::node::{NAME, NodeWatch};
use crate::progress::Progress;
use crate::qemu::{Firmware, HARDWARE, Machine};
use crate::workload;
use users::Users;

/// Increase it when the steps below change.
const RECIPE: u32 = 5;

/// A frozen node and its cluster. While it is held, no other command of the rig removes it.
#[derive(Debug)]
pub struct Joined {
    dir: PathBuf,
    firmware: Firmware,
    users: Users,
}

impl Joined {
    /// Makes the frozen node for a kind of disk unless there is one. Its user checks whether its
    /// port is free: in parallel runs each has its own network.
    ///
    /// # Errors
    ///
    /// Fails when the image, the boot, the join or the freezing fails.
    pub async fn prepare(kind: DiskKind) -> Result<()> {
        Self::hold(kind).await.map(drop)
    }

    /// Like [`Joined::prepare`], for a user that needs this node for hours. While it is held,
    /// nobody who makes another one removes it.
    ///
    /// # Errors
    ///
    /// Fails when the image, the boot, the join or the freezing fails.
    pub async fn hold(kind: DiskKind) -> Result<Self> {
        Self::find(kind).await
    }

    /// Returns the frozen node for a kind of disk, ready to continue here. Makes it first if
    /// necessary.
    ///
    /// # Errors
    ///
    /// Fails when the image, the boot, the join or the freezing fails, or another process continues
    /// this node here.
    pub async fn ensure(kind: DiskKind) -> Result<Self> {
        let this = Self::find(kind).await?;
        if !this.port_is_taken()? {
            return Ok(this);
        }
        this.give_up()?;
        Self::find(kind).await
    }

    /// Identifies the frozen node for a kind of disk. A node that was made again from the same
    /// inputs has another identity, because its cluster has other keys.
    ///
    /// # Errors
    ///
    /// Fails when there is none.
    pub fn identity(kind: DiskKind) -> Result<String> {
        let this = Self::of(kind, &images::ensure_disk(kind)?)?;
        let made = fs::metadata(this.state())?.modified()?;
        let made = made.duration_since(UNIX_EPOCH)?.as_nanos();
        Ok(format!("{} {made}", this.dir.display()))
    }

    async fn find(kind: DiskKind) -> Result<Self> {
        let disk = images::ensure_disk(kind)?;
        let this = Self::of(kind, &disk)?;
        loop {
            this.users.join()?;
            if this.dir.exists() {
                return Ok(this);
            }
            this.users.leave()?;
            this.users.wait_until_alone()?;
            // The previous holder of the lock may have made it.
            if !this.dir.exists() {
                this.make(&disk).await?;
            }
            this.users.leave()?;
        }
    }

    fn of(kind: DiskKind, disk: &Path) -> Result<Self> {
        let firmware = if kind == DiskKind::Uefi {
            Firmware::Uefi
        } else {
            Firmware::Bios
        };
        let dir = programs::cache()?.join(format!("joined-{kind:?}-{}", key(disk)?));
        let users = Users::of(&dir)?;
        Ok(Self {
            dir,
            firmware,
            users,
        })
    }

    /// Removes a frozen node whose port is taken. The node's kubelet.conf names the port, so such a
    /// node is unusable. It removes no node that is in use.
    fn give_up(self) -> Result<()> {
        self.users.leave()?;
        if !self.users.are_none()? {
            bail!(
                "another command of the rig (a scenario, vm-shell, demo or bench) runs on the frozen node {}, and its API server's port is \
                 taken: wait for it or end it first",
                self.dir.display()
            );
        }
        // Check again, now that nobody else can do the same.
        if self.port_is_taken()? {
            eprintln!(
                "another program has taken the API server's port: joining again on a free one"
            );
            fs::remove_dir_all(&self.dir)?;
        }
        Ok(())
    }

    fn port_is_taken(&self) -> Result<bool> {
        Ok(self.dir.exists() && control_plane::port_is_taken(&self.dir.join("cluster"))?)
    }

    /// Copies its cluster to `to`.
    ///
    /// # Errors
    ///
    /// Fails when the copy fails.
    pub fn copy_cluster(&self, to: &Path) -> Result<()> {
        control_plane::copy(&self.dir.join("cluster"), to)
    }

    /// A machine in `dir` with the frozen disk; see [`Joined::state`].
    ///
    /// # Errors
    ///
    /// Fails when the overlay cannot be made.
    pub fn machine(&self, dir: &Path) -> Result<Machine> {
        Machine::new(dir, &self.dir.join("machine/disk.qcow2"), self.firmware)
    }

    /// The frozen memory of the machine.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.dir.join("state")
    }

    async fn make(&self, disk: &Path) -> Result<()> {
        let progress = Progress::new("joined node");
        let work = self.dir.with_extension("new");
        if work.exists() {
            fs::remove_dir_all(&work)?;
        }
        fs::create_dir_all(&work)?;
        progress.step("starting a control plane");
        let mut plane = ControlPlane::start(&work.join("cluster")).await?;
        progress.step("booting the disk");
        let machine = Machine::new(&work.join("machine"), disk, self.firmware)?;
        let running = machine.start().await?;
        let mut guest = Guest::connect(&machine.channel()).await?;
        guest
            .wait_for_boot_other_than(None, Duration::from_secs(300))
            .await?;
        join(&mut guest, &plane, &progress).await.with_context(|| {
            format!(
                "the node did not join; its console is in {}",
                machine.serial_log().display()
            )
        })?;
        progress.step("freezing");
        // Memory and disk must match at rest. What the kernel has not written yet is in the memory.
        guest.run("sync").await?;
        drop(guest);
        running.save(&work.join("state")).await?;
        plane.stop();
        fs::rename(&work, &self.dir)?;
        progress.step("done");
        self.drop_others()
    }

    /// One frozen node takes 2 GB, and every change of an image makes a new one. The nodes in use
    /// stay until the next time.
    fn drop_others(&self) -> Result<()> {
        let name = self.dir.file_name().unwrap_or_default().to_string_lossy();
        let kind = name.rsplit_once('-').map_or("", |(kind, _)| kind);
        for entry in fs::read_dir(programs::cache()?)? {
            let path = entry?.path();
            let other = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() && path != self.dir && other.starts_with(kind) {
                let users = Users::of(&path)?;
                if users.are_none()? {
                    fs::remove_dir_all(path)?;
                }
            }
        }
        Ok(())
    }
}

/// Joins a node that has booted, and waits until a pod runs on it.
///
/// # Errors
///
/// Fails when the node does not join, or runs no pod.
pub async fn join(guest: &mut Guest, plane: &ControlPlane, progress: &Progress) -> Result<()> {
    progress.step("waiting for the container runtime");
    let settled = "systemctl is-system-running --wait; systemctl is-active containerd rig-images";
    guest.try_run(settled, Duration::from_secs(300)).await?;
    progress.step("kubeadm join");
    let mut node = NodeWatch::start(plane.client().await?);
    let server = format!("{HOST_SEEN_FROM_GUEST}:{}", plane.api_port());
    // Without the folder the kubelet logs an error every second.
    let command = format!(
        "mkdir -p /etc/kubernetes/manifests; kubeadm join {server} --token {JOIN_TOKEN} \
         --discovery-token-unsafe-skip-ca-verification --node-name {NAME}"
    );
    let joined = guest.try_run(&command, Duration::from_secs(400)).await?;
    ensure!(
        joined.code == 0,
        "kubeadm join ended with {}: {}",
        joined.code,
        joined.text
    );
    node.wait("the node is Ready", Duration::from_secs(300), |view| {
        view.ready
    })
    .await?;
    progress.step("starting a pod");
    workload::create(&plane.client().await?).await?;
    workload::wait_until_running(&plane.client().await?, Duration::from_secs(180)).await
}

/// The disk's path contains its content's key; the programs' paths contain theirs. Another QEMU
/// version cannot read this memory, and neither can other hardware.
fn key(disk: &Path) -> Result<String> {
    let plane = programs::kubernetes(programs::CONTROL_PLANE)?;
    let text = format!(
        "{RECIPE} {} {} {} {} {HARDWARE:?}",
        disk.display(),
        plane.display(),
        programs::etcd()?.display(),
        emulator::version()?
    );
    Ok(format!("{:x}", Sha256::digest(text))[..16].to_owned())
}
