//! The environment of one scenario: a joined node, its cluster, the remote, and functions that
//! cause failures.

mod ask;
mod console;
pub mod control_plane;
pub mod held;
mod hung;
pub mod killed;
pub mod look;
mod losing;
pub mod member;
mod operator;
pub mod story;
pub mod told;
pub mod traces;

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::Value;
use testkit::control_plane::{ControlPlane, HOST_SEEN_FROM_GUEST};

use crate::far::Own;
use crate::guest::Guest;
use crate::images::{self, DiskKind};
use crate::joined::Joined;
use crate::node::{NAME, NodeWatch};
use crate::patience::within;
use crate::progress::Progress;
use crate::qemu::{Firmware, Machine, Running};
use crate::repo_server::{PORT, RepoServer};
use upgrade::report::Status;

/// The guest in QEMU's network.
const GUEST: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);

/// How long a boot may take, from power-on or reboot until the test channel answers. It takes a
/// minute on a quiet machine. On a busy machine it took more than two minutes without any CPU
/// steal.
pub const BOOT: Duration = Duration::from_secs(600);

/// A joined node and everything around it. Dropping it stops everything; its folder remains.
#[derive(Debug)]
pub struct Rig {
    /// The cluster.
    pub plane: ControlPlane,
    /// The remote `careen` of the node.
    pub repo: RepoServer,
    /// The Node object, as the cluster sees it.
    pub node: NodeWatch,
    /// The test channel into the guest. It does not answer while the power is off.
    pub guest: Guest,
    /// Prints the steps of the scenario.
    pub progress: Progress,
    machine: Machine,
    power: Option<Running>,
    /// The host's part of the control plane that is on the node itself, if it is one. The programs
    /// end after the power.
    own: Option<Own>,
    /// The Node's status when the last request was made. It answers an earlier request.
    answered: Option<Status>,
    /// The Node's name, and its address among the control planes.
    name: String,
    address: Ipv4Addr,
    dir: PathBuf,
    /// The disk and the cluster are overlays and copies of this frozen node, so nobody may remove
    /// it meanwhile.
    _joined: Joined,
}

impl Rig {
    /// Starts a fresh node from the state just after it joined. Its files are in `dir`, which is
    /// emptied first.
    ///
    /// # Errors
    ///
    /// Fails when a part does not start.
    pub async fn start(disk: DiskKind, dir: &Path, progress: Progress) -> Result<Self> {
        let joined = joined_in(disk, dir).await?;
        let machine = joined.machine(&dir.join("machine"))?;
        Self::resume(joined, machine, dir, progress).await
    }

    /// Like [`Rig::start`], but logs every write to the node's disk.
    ///
    /// # Errors
    ///
    /// Fails when a part does not start.
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
        // Check this before anything that waits for the guest. QEMU's exit message is more useful
        // than a channel that does not answer.
        let (plane, running) = (plane?, running?);
        let mut rig = Self::around(plane, machine, running, joined, dir, progress).await?;
        prepare(&mut rig.guest, rig.repo.port()).await?;
        rig.progress.step("the node is there");
        Ok(rig)
    }

    /// Powers on a node of which only the disk (a raw file) is left. The cluster is as it was when
    /// the node joined, except for the Node, which `node` describes. Does not wait for the boot.
    ///
    /// # Errors
    ///
    /// Fails when a part does not start.
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
            own: None,
            answered: None,
            name: NAME.to_owned(),
            address: GUEST,
            dir: dir.to_owned(),
            _joined: joined,
        })
    }

    /// The id of the process that emulates the node while its power is on.
    ///
    /// # Errors
    ///
    /// Fails when the power is off.
    pub fn emulator(&self) -> Result<u32> {
        let running = self.power.as_ref().context("the power is off")?;
        Ok(running.pid())
    }

    /// Cuts the power at once.
    ///
    /// # Errors
    ///
    /// Fails when the power is off already.
    pub fn cut_power(&mut self) -> Result<()> {
        self.progress.step("power cut");
        self.power
            .take()
            .context("the power is off already")?
            .cut_power();
        self.own.iter().for_each(|own| own.far.lose());
        Ok(())
    }

    /// Resets the node from outside, as a node-health operator does by the machine's controller.
    ///
    /// # Errors
    ///
    /// Fails when the power is off.
    pub async fn reset(&mut self) -> Result<()> {
        self.progress.step("reset from outside");
        let power = self.power.as_mut();
        power.context("the power is off")?.reset().await?;
        self.own.iter().for_each(|own| own.far.lose());
        Ok(())
    }

    /// Powers the node on with this time in its hardware clock, as `2026-11-28T23:30:00`.
    ///
    /// # Errors
    ///
    /// As [`Self::power_on`].
    pub async fn power_on_at(&mut self, time: &str) -> Result<()> {
        if self.power.is_some() {
            bail!("the power is on already");
        }
        self.progress.step(&format!("power on, and it is {time}"));
        self.power = Some(self.machine.start_at(time).await?);
        self.guest = Guest::connect(&self.machine.channel()).await?;
        self.lead_to_own().await
    }

    /// Powers the node on and connects to its channel. Does not wait for the boot.
    ///
    /// # Errors
    ///
    /// Fails when the power is on already or QEMU does not start.
    pub async fn power_on(&mut self) -> Result<()> {
        if self.power.is_some() {
            bail!("the power is on already");
        }
        self.progress.step("power on");
        self.power = Some(self.machine.start().await?);
        self.guest = Guest::connect(&self.machine.channel()).await?;
        self.lead_to_own().await
    }

    /// Waits until the test channel answers in a boot other than `old`.
    ///
    /// # Errors
    ///
    /// Fails when no such boot comes up in time.
    pub async fn wait_boot(&mut self, old: Option<&str>) -> Result<String> {
        let boot = self.guest.wait_for_boot_other_than(old, BOOT).await?;
        self.progress
            .step(&format!("booted ({})", &boot[..8.min(boot.len())]));
        Ok(boot)
    }

    /// All console output of the node in this scenario.
    #[must_use]
    pub fn console(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.machine.serial_log()).unwrap_or_default())
            .into_owned()
    }

    /// Waits until the console output, from byte `from` on, contains `marker`.
    ///
    /// # Errors
    ///
    /// Fails when the marker does not appear in time.
    pub async fn wait_console(&mut self, from: usize, marker: &str, limit: Duration) -> Result<()> {
        let look = async {
            // Poll the file. No file notification would also report what QEMU writes in one piece.
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

    /// Collects what a person needs after a failure (journal, record, the Node) and returns the
    /// folder.
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
                // If the guest does not answer once, it does not answer a second time either.
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

/// Gets the frozen node and copies its cluster to `dir`, which is emptied first.
async fn joined_in(disk: DiskKind, dir: &Path) -> Result<Joined> {
    let joined = Joined::ensure(disk).await?;
    if dir.exists() {
        fs::remove_dir_all(dir)?;
    }
    fs::create_dir_all(dir)?;
    joined.copy_cluster(&dir.join("cluster"))?;
    Ok(joined)
}

/// Prepares a resumed guest. The guest assumes that no time has passed and that its connections are
/// alive. The agent's watch only listens, so it would notice last. The guest also knows only the
/// usual port of the remote.
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
