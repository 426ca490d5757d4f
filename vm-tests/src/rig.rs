//! The world of one scenario: a joined node, its cluster, the remote, and hands to pull every plug.

mod ask;
mod console;
mod held;
mod hung;
mod killed;
mod look;
mod losing;
mod operator;
mod story;
mod told;
mod traces;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::Value;

use crate::control_plane::{ControlPlane, HOST_SEEN_FROM_GUEST};
use crate::guest::Guest;
use crate::images::{self, DiskKind};
use crate::joined::Joined;
use crate::node::{NAME, NodeWatch};
use crate::patience::within;
use crate::progress::Progress;
use crate::qemu::{Firmware, Machine, Running};
use crate::repo_server::{PORT, RepoServer};
use upgrade::report::Status;

pub use held::{HELD_BY_PROGRAMS, LOGIND_GOES_ON, LOGIND_HANGS, killed_in};
pub use killed::{EACH_AND_BOTH, In};
pub use story::{Before, UPGRADE};
pub use told::expect_same;
pub use traces::Traces;

/// A boot from power-on or reboot until the test channel answers; a minute on a quiet machine, and more than two were seen on one
/// whose processors others slow down without taking them.
pub const BOOT: Duration = Duration::from_secs(600);

/// A joined node and everything around it. Dropping it ends everything; its folder stays.
#[derive(Debug)]
pub struct Rig {
    /// The cluster.
    pub plane: ControlPlane,
    /// The remote `careen` of the node.
    pub repo: RepoServer,
    /// The node as the cluster sees it.
    pub node: NodeWatch,
    /// The node from inside. Dead while the power is off.
    pub guest: Guest,
    /// Tells what is going on.
    pub progress: Progress,
    machine: Machine,
    power: Option<Running>,
    /// The status that stood on the Node when the last request was made: it answers an earlier one.
    answered: Option<Status>,
    dir: PathBuf,
    /// Disk and cluster go on from there, so it must not be removed meanwhile.
    _joined: Joined,
}

impl Rig {
    /// A fresh node, as frozen just after it joined, with its files in `dir` (emptied first).
    ///
    /// # Errors
    /// When a part does not start.
    pub async fn start(disk: DiskKind, dir: &Path, progress: Progress) -> Result<Self> {
        let joined = joined_in(disk, dir).await?;
        let machine = joined.machine(&dir.join("machine"))?;
        Self::resume(joined, machine, dir, progress).await
    }

    /// The same with all that is written to its disk in a log.
    ///
    /// # Errors
    /// When a part does not start.
    pub async fn start_logging_writes(
        disk: DiskKind,
        dir: &Path,
        log: &Path,
        progress: Progress,
    ) -> Result<Self> {
        let joined = joined_in(disk, dir).await?;
        let machine = joined.machine(&dir.join("machine"))?;
        let machine = machine.logging_writes(log)?;
        Self::resume(joined, machine, dir, progress).await
    }

    async fn resume(
        joined: Joined,
        machine: Machine,
        dir: &Path,
        progress: Progress,
    ) -> Result<Self> {
        let state = joined.state();
        let cluster = dir.join("cluster");
        let (plane, running) = tokio::join!(ControlPlane::start(&cluster), machine.resume(&state));
        // Before anything that waits for the guest: what QEMU says of its end tells more than a channel that does not answer.
        let (plane, running) = (plane?, running?);
        let mut rig = Self::around(plane, machine, running, joined, dir, progress).await?;
        prepare(&mut rig.guest, rig.repo.port()).await?;
        rig.progress.step("the node is there");
        Ok(rig)
    }

    /// A node of which nothing is left but its disk, a raw file, switched on; the cluster is as it was when the node had joined,
    /// but for what `node` says of the Node. Does not wait for the boot.
    ///
    /// # Errors
    /// When a part does not start.
    pub async fn cold(disk: &Path, dir: &Path, node: &Value, progress: Progress) -> Result<Self> {
        let joined = joined_in(DiskKind::Bios, dir).await?;
        let machine = Machine::new(&dir.join("machine"), disk, Firmware::Bios)?;
        let plane = ControlPlane::start(&dir.join("cluster")).await?;
        let api: Api<Node> = Api::all(plane.client().await?);
        api.patch(NAME, &PatchParams::default(), &Patch::Merge(node))
            .await?;
        let running = machine.start().await?;
        Self::around(plane, machine, running, joined, dir, progress).await
    }

    async fn around(
        plane: ControlPlane,
        machine: Machine,
        running: Running,
        joined: Joined,
        dir: &Path,
        progress: Progress,
    ) -> Result<Self> {
        let guest = Guest::connect(&machine.channel()).await?;
        let node = NodeWatch::start(plane.client().await?);
        let repo = RepoServer::start(&images::repository()?).await?;
        Ok(Self {
            plane,
            repo,
            node,
            guest,
            progress,
            machine,
            power: Some(running),
            answered: None,
            dir: dir.to_owned(),
            _joined: joined,
        })
    }

    /// The process that emulates the node, for as long as its power is on.
    ///
    /// # Errors
    /// When it is off.
    pub fn emulator(&self) -> Result<u32> {
        let running = self.power.as_ref().context("the power is off")?;
        Ok(running.pid())
    }

    /// The power goes, now.
    ///
    /// # Errors
    /// When it is off already.
    pub fn cut_power(&mut self) -> Result<()> {
        self.progress.step("power cut");
        self.power
            .take()
            .context("the power is off already")?
            .cut_power();
        Ok(())
    }

    /// Switches the node on and connects to its channel; does not wait for the boot.
    ///
    /// # Errors
    /// When it is on already or QEMU does not start.
    pub async fn power_on(&mut self) -> Result<()> {
        if self.power.is_some() {
            bail!("the power is on already");
        }
        self.progress.step("power on");
        self.power = Some(self.machine.start().await?);
        self.guest = Guest::connect(&self.machine.channel()).await?;
        Ok(())
    }

    /// Waits for the test channel in a boot other than `old`.
    ///
    /// # Errors
    /// When none comes up in time.
    pub async fn wait_boot(&mut self, old: Option<&str>) -> Result<String> {
        let boot = self.guest.wait_for_boot_other_than(old, BOOT).await?;
        self.progress
            .step(&format!("booted ({})", &boot[..8.min(boot.len())]));
        Ok(boot)
    }

    /// Everything the node's console ever said in this scenario.
    #[must_use]
    pub fn console(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.machine.serial_log()).unwrap_or_default())
            .into_owned()
    }

    /// Waits until the console, from byte `from` on, says `marker`.
    ///
    /// # Errors
    /// When it does not in time.
    pub async fn wait_console(&mut self, from: usize, marker: &str, limit: Duration) -> Result<()> {
        let look = async {
            // A file has no better way to be waited for that would also see what QEMU writes in one piece.
            while !self
                .console()
                .get(from..)
                .unwrap_or_default()
                .contains(marker)
            {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let found = within(limit, look).await;
        found.with_context(|| format!("the console did not say {marker:?} within {limit:?}"))
    }

    /// The folder with the scenario's files.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Gathers what a person needs after a failure: journal, record, the Node; gives the folder.
    pub async fn keep_evidence(&mut self) -> PathBuf {
        let node = format!("{:#?}\n\n{:#?}\n", self.node.now(), self.node.history());
        let _ = fs::write(self.dir.join("node.txt"), node);
        let wanted = [
            (
                "journal.txt",
                "journalctl --no-pager --no-hostname -o short-monotonic | tail -n 20000",
            ),
            (
                "record.txt",
                "cd /sysroot/ostree/careen && tail -n +1 record.* && ls -laR .",
            ),
            (
                "system.txt",
                "ostree admin status --skip-signatures; cat /proc/cmdline; systemctl --failed; cat /boot/loader/grub.cfg; df; ls -la /run/careen",
            ),
        ];
        if self.power.is_some() {
            for (file, script) in wanted {
                // A guest that does not answer once will not answer twice.
                let Ok(output) = self.guest.try_run(script, Duration::from_secs(120)).await else {
                    break;
                };
                let _ = fs::write(self.dir.join(file), output.text);
            }
        }
        let _ = fs::copy(self.machine.serial_log(), self.dir.join("serial.log"));
        self.dir.clone()
    }
}

/// The frozen node, with a copy of its cluster in `dir`, which is emptied first.
async fn joined_in(disk: DiskKind, dir: &Path) -> Result<Joined> {
    let joined = Joined::ensure(disk).await?;
    if dir.exists() {
        fs::remove_dir_all(dir)?;
    }
    fs::create_dir_all(dir)?;
    joined.copy_cluster(&dir.join("cluster"))?;
    Ok(joined)
}

/// A resumed guest believes that no time has passed and that its connections live; the one that only listens, the agent's watch,
/// would find out last. And it knows the usual port of the remote only.
async fn prepare(guest: &mut Guest, port: u16) -> Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64();
    guest
        .run(&format!("date -s @{now:.3} >/dev/null"))
        .await
        .context("the resumed node does not answer")?;
    if port != PORT {
        let (old, new) = (
            format!("{HOST_SEEN_FROM_GUEST}:{PORT}/"),
            format!("{HOST_SEEN_FROM_GUEST}:{port}/"),
        );
        guest
            .run(&format!(
                "sed -i s,{old},{new}, /etc/ostree/remotes.d/careen.conf"
            ))
            .await?;
    }
    guest
        .run("systemctl --no-block try-restart careen-agent")
        .await
        .map(drop)
}
