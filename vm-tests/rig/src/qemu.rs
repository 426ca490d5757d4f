//! One virtual machine: start, monitor, power cut, and saving its state to a file.
//!
//! It uses only software emulation (TCG). KVM is not available everywhere the tests run, and a rig
//! with two speeds has two sets of races. `cache=unsafe` drops fsyncs to this machine's disk, but
//! QEMU still passes flushed writes to the kernel. So `kill -9` loses exactly what a power cut
//! loses: what the guest had not flushed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use testkit::process::Process;

use crate::emulator;
use crate::qmp::Qmp;

/// The hardware of every machine. A frozen node resumes on no other hardware, so these lines are
/// part of its key.
///
/// It uses the oldest processor model. Programs use the vector instructions of a newer one, and
/// those are slow when emulated: with `-cpu max` (QEMU 7.2) zlib inflates 2.6 MB/s, with `qemu64`
/// 18; openssl hashes 12 MB/s and 81. It has no `cx16`, because QEMU 7.2 sometimes returns from an
/// emulated `cmpxchg16b` with garbage in the flags, and Linux 6.12 dies of a double fault in its
/// allocator. It has no `svm`, because udev would load KVM.
///
/// The guest uses the host's clock. With a clock of its own work (`-icount`) no deadline would come
/// early when others use this machine's processors. But QEMU 7.2 then emulates half as fast (an
/// upgrade until it was deployed, one run each: 241 s, and 121 s without).
///
/// Several processors are emulated in turns. In parallel one of them sometimes runs code that the
/// other has just patched (`Oops: int3`).
pub const HARDWARE: [&str; 4] = [
    "-nodefaults -no-user-config -display none -machine q35 -accel tcg,thread=single,tb-size=512 -cpu qemu64,cx16=off,svm=off -m 2048",
    "-device virtio-rng-pci -device virtio-serial-pci -device virtserialport,chardev=channel,name=careen.shell",
    "-netdev user,id=net -device virtio-net-pci,netdev=net -device i6300esb -action watchdog=reset",
    "-serial chardev:serial",
];

/// More than a node writes in an upgrade, in bytes.
const LONGEST_LOG: u64 = 64 << 30;

/// The firmware of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Firmware {
    /// SeaBIOS.
    Bios,
    /// Debian's OVMF, with its variables in a file next to the disk.
    Uefi,
}

/// The first drive's name if none is given.
const DISK: &str = "virtio0";

/// A machine's files: its own folder with `disk.qcow2`, `serial.log` and sockets.
#[derive(Debug, Clone)]
pub struct Machine {
    dir: PathBuf,
    firmware: Firmware,
    /// The log of every request to its disk, if there is one.
    writes: Option<PathBuf>,
    /// Hardware that it has from the next power-on, as QEMU's arguments.
    more: Vec<String>,
}

/// A running machine. Dropping it is a power cut.
#[derive(Debug)]
pub struct Running {
    process: Process,
    monitor: Qmp,
}

impl Machine {
    /// A new machine in `dir` whose disk starts as a copy of `base` (unchanged; raw or qcow2).
    ///
    /// # Errors
    ///
    /// Fails when the overlay cannot be made.
    pub fn new(dir: &Path, base: &Path, firmware: Firmware) -> Result<Self> {
        fs::create_dir_all(dir)?;
        let dir = dir.canonicalize()?;
        let base = base
            .canonicalize()
            .with_context(|| format!("no disk {}", base.display()))?;
        let format = if base
            .extension()
            .is_some_and(|extension| extension == "qcow2")
        {
            "qcow2"
        } else {
            "raw"
        };
        let overlay = dir.join("disk.qcow2");
        let mut create = Command::new("qemu-img");
        create
            .args(["create", "-q", "-f", "qcow2", "-F", format, "-b"])
            .arg(base)
            .arg(overlay);
        let status = create
            .status()
            .context("cannot run qemu-img; install qemu-utils")?;
        ensure!(status.success(), "qemu-img create: {status}");
        if firmware == Firmware::Uefi {
            fs::copy("/usr/share/OVMF/OVMF_VARS_4M.fd", dir.join("efivars.fd"))
                .context("install the package ovmf")?;
        }
        Ok(Self {
            dir,
            firmware,
            writes: None,
            more: Vec::new(),
        })
    }

    /// Logs every write and flush of its disk, in the format of dm-log-writes.
    ///
    /// # Errors
    ///
    /// Fails when the log cannot be made.
    pub fn logging_writes(mut self, log: &Path) -> Result<Self> {
        // QEMU does not let a log grow. A sparse file uses no more space than its content.
        fs::File::create(log)?.set_len(LONGEST_LOG)?;
        self.writes = Some(log.canonicalize()?);
        Ok(self)
    }

    /// Gives it more hardware from the next power-on, as QEMU's arguments.
    pub fn add_hardware(&mut self, arguments: Vec<String>) {
        self.more.extend(arguments);
    }

    /// The log of every request to its disk, if there is one.
    #[must_use]
    pub fn writes(&self) -> Option<&Path> {
        self.writes.as_deref()
    }

    /// The same machine, powered off, with a disk that starts as a copy of `base`.
    ///
    /// # Errors
    ///
    /// Fails when the overlay cannot be made.
    pub fn with_disk(&self, base: &Path) -> Result<Self> {
        Self::new(&self.dir, base, self.firmware)
    }

    /// The disk: an overlay over the base.
    #[must_use]
    pub fn disk(&self) -> PathBuf {
        self.dir.join("disk.qcow2")
    }

    /// Everything that the machine wrote to its serial console, all boots in one file.
    #[must_use]
    pub fn serial_log(&self) -> PathBuf {
        self.dir.join("serial.log")
    }

    /// The socket of the test channel.
    #[must_use]
    pub fn channel(&self) -> PathBuf {
        self.dir.join("channel")
    }

    /// Powers the machine on.
    ///
    /// # Errors
    ///
    /// Fails when QEMU does not start. The message repeats QEMU's own.
    pub async fn start(&self) -> Result<Running> {
        self.launch(self.more.clone()).await
    }

    /// Powers the machine on with another time in its hardware clock, as `2026-11-28T23:30:00`.
    ///
    /// # Errors
    ///
    /// As [`Self::start`].
    pub async fn start_at(&self, time: &str) -> Result<Running> {
        let clock = ["-rtc".to_owned(), format!("base={time}")];
        self.launch([&self.more[..], &clock].concat()).await
    }

    /// Continues from a state that [`Running::save`] wrote, with the disk of that moment.
    ///
    /// # Errors
    ///
    /// Fails when QEMU does not start or rejects the state.
    pub async fn resume(&self, state: &Path) -> Result<Running> {
        let mut running = self
            .launch(vec![
                "-incoming".into(),
                format!("exec:cat {}", state.display()),
            ])
            .await?;
        running.wait_for(&["paused", "running"]).await?;
        running.monitor.execute("cont", None).await?;
        Ok(running)
    }

    async fn launch(&self, more: Vec<String>) -> Result<Running> {
        let monitor = self.dir.join("monitor");
        for socket in [&monitor, &self.channel()] {
            if socket.exists() {
                fs::remove_file(socket)?;
            }
        }
        let arguments = [self.arguments(), more].concat();
        let log = self.dir.join("qemu.log");
        let mut process = Process::start(emulator::program()?, &arguments, &log)?;
        let monitor = loop {
            process.check()?;
            if let Ok(monitor) = Qmp::connect(&monitor).await {
                break monitor;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        Ok(Running { process, monitor })
    }

    fn arguments(&self) -> Vec<String> {
        let dir = self.dir.display();
        let mut arguments: Vec<String> = HARDWARE
            .iter()
            .flat_map(|line| line.split(' ').map(str::to_owned))
            .collect();
        let mut add = |option: &str, value: String| arguments.extend([option.to_owned(), value]);
        add(
            "-chardev",
            format!("socket,id=channel,path={dir}/channel,server=on,wait=off"),
        );
        add(
            "-chardev",
            format!("file,id=serial,path={dir}/serial.log,append=on"),
        );
        // One processor: two are emulated in turns and are not faster. But a resumed UEFI machine
        // with one processor hangs when it starts GRUB after a reset. The cause is not known yet.
        let processors = match self.firmware {
            Firmware::Bios => "1",
            Firmware::Uefi => "2",
        };
        add("-smp", processors.to_owned());
        add("-qmp", format!("unix:{dir}/monitor,server=on,wait=off"));
        add("-drive", self.drive());
        if self.firmware == Firmware::Uefi {
            let code = "/usr/share/OVMF/OVMF_CODE_4M.fd";
            add(
                "-drive",
                format!("if=pflash,format=raw,unit=0,readonly=on,file={code}"),
            );
            add(
                "-drive",
                format!("if=pflash,format=raw,unit=1,file={dir}/efivars.fd"),
            );
        }
        arguments
    }

    /// The disk. A log comes before it and must see each flush, which `cache=unsafe` would not pass
    /// on.
    fn drive(&self) -> String {
        let disk = self.disk();
        let disk = disk.display();
        match &self.writes {
            None => format!("file={disk},format=qcow2,if=virtio,cache=unsafe,discard=unmap"),
            Some(log) => format!(
                "driver=blklogwrites,if=virtio,cache=writeback,discard=unmap,log.driver=file,log.cache.no-flush=on,log.filename={},\
                 file.driver=qcow2,file.cache.no-flush=on,file.discard=unmap,file.file.driver=file,file.file.filename={disk}",
                log.display()
            ),
        }
    }
}

impl Running {
    /// The process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Cuts the power: nothing is flushed, and no program is notified.
    pub fn cut_power(mut self) {
        self.process.kill();
    }

    /// Presses the reset button: nothing is flushed, and no program is notified.
    ///
    /// # Errors
    ///
    /// Fails when QEMU refuses.
    pub async fn reset(&mut self) -> Result<()> {
        self.monitor.execute("system_reset", None).await.map(drop)
    }

    /// Succeeds while QEMU runs.
    ///
    /// # Errors
    ///
    /// Fails when it has ended for any reason.
    pub fn check(&mut self) -> Result<()> {
        self.process.check()
    }

    /// Forwards a TCP port of this machine's loopback to a port of the guest, for as long as it
    /// runs.
    ///
    /// # Errors
    ///
    /// Fails when QEMU refuses.
    pub async fn forward(&mut self, here: u16, there: u16) -> Result<()> {
        // The monitor protocol has no command for this.
        let line = format!("hostfwd_add net tcp:127.0.0.1:{here}-:{there}");
        let command = serde_json::json!({"command-line": line});
        let said = self
            .monitor
            .execute("human-monitor-command", Some(command))
            .await?;
        ensure!(said.as_str() == Some(""), "QEMU, to {line}, says {said}");
        Ok(())
    }

    /// Sets whether disk requests complete. While they do not, they wait, at one byte per second
    /// for all of them, and complete afterwards.
    ///
    /// # Errors
    ///
    /// Fails when QEMU refuses.
    pub async fn disk_answers(&mut self, answers: bool) -> Result<()> {
        let mut limits = serde_json::json!({"device": DISK, "bps": i32::from(!answers)});
        for unlimited in ["bps_rd", "bps_wr", "iops", "iops_rd", "iops_wr"] {
            limits[unlimited] = 0.into();
        }
        let command = "block_set_io_throttle";
        self.monitor.execute(command, Some(limits)).await.map(drop)
    }

    /// Writes memory and devices to a file and powers the machine off. Its disk keeps the state of
    /// this moment.
    ///
    /// # Errors
    ///
    /// Fails when QEMU cannot write the state.
    pub async fn save(mut self, state: &Path) -> Result<()> {
        self.monitor.execute("stop", None).await?;
        let limits = serde_json::json!({"max-bandwidth": 4_000_000_000_u64});
        self.monitor
            .execute("migrate-set-parameters", Some(limits))
            .await?;
        let uri = format!("exec:cat > {}", state.display());
        self.monitor
            .execute("migrate", Some(serde_json::json!({"uri": uri})))
            .await?;
        self.wait_for(&["postmigrate"]).await?;
        self.monitor.execute("quit", None).await.ok();
        Ok(())
    }

    async fn wait_for(&mut self, wanted: &[&str]) -> Result<()> {
        for _ in 0..3000 {
            self.process.check()?;
            let status = self.monitor.execute("query-status", None).await?;
            let status = status["status"].as_str().unwrap_or_default();
            if wanted.contains(&status) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        bail!("QEMU did not reach one of {wanted:?} within a minute")
    }
}
