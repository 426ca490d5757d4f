//! The machine that boots the disk, and its cluster. Where the pages say "as on any node", the rig
//! does what it does for its own nodes.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rig::BOOT;
use rig::guest::Guest;
use rig::joined;
use rig::node::{NAME, NodeWatch, View};
use rig::patience::within;
use rig::progress::Progress;
use rig::qemu::{Firmware, Machine, Running};
use testkit::control_plane::ControlPlane;
use testkit::programs;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use upgrade::exit;
use upgrade::report::Answer;

/// The limit for an upgrade with two boots, with an image that is not reduced for emulation.
const PATIENCE: Duration = Duration::from_secs(3600);

/// The pages' names for the node.
const NAMES: [&str; 2] = ["N", "worker-1"];

/// The command that asks before it begins.
const ASKS: &str = "kubectl careen upgrade";

/// A running machine and a cluster.
#[derive(Debug)]
pub struct Newcomer {
    plane: ControlPlane,
    node: NodeWatch,
    guest: Guest,
    progress: Progress,
    _power: Running,
}

impl Newcomer {
    /// Starts a cluster, and the machine from this disk.
    ///
    /// # Errors
    ///
    /// Fails when a part does not start, or the machine does not come up.
    pub async fn boot(disk: &Path, firmware: Firmware, dir: &Path) -> Result<Self> {
        let progress = Progress::new("newcomer");
        progress.step("starting a control plane");
        let plane = ControlPlane::start(&dir.join("cluster")).await?;
        progress.step(&format!("booting the disk by {firmware:?}"));
        let machine = Machine::new(&dir.join("machine"), disk, firmware)?;
        let power = machine.start().await?;
        let mut guest = Guest::connect(&machine.channel()).await?;
        let up = guest.wait_for_boot_other_than(None, BOOT).await;
        up.with_context(|| format!("its console is in {}", machine.serial_log().display()))?;
        let node = NodeWatch::start(plane.client().await?);
        Ok(Self {
            plane,
            node,
            guest,
            progress,
            _power: power,
        })
    }

    /// Names the node and joins it.
    ///
    /// # Errors
    ///
    /// Fails when it does not join, or does not become Ready.
    pub async fn join(&mut self) -> Result<()> {
        let name = format!("systemctl is-system-running --wait; hostnamectl set-hostname {NAME}");
        self.guest.run_within(&name, BOOT).await?;
        joined::join(&mut self.guest, &self.plane, &self.progress).await
    }

    /// Appends to the policy that the package installed.
    ///
    /// # Errors
    ///
    /// Fails when the node does not answer.
    pub async fn policy(&mut self, text: &str) -> Result<()> {
        let write = format!("cat >>/etc/careen/policy.toml <<'END'\n{text}END\n");
        self.guest.run(&write).await.map(drop)
    }

    /// Types each line on the node. The doctor may report a finding.
    ///
    /// # Errors
    ///
    /// Fails when a line ends in an unexpected way.
    pub async fn type_there(&mut self, lines: &str) -> Result<()> {
        for line in lines.lines() {
            println!("\n{NAME}# {line}");
            let output = self.guest.try_run(line, PATIENCE).await?;
            print!("{}", output.text);
            let looks = line.contains(" doctor") && output.code == i32::from(exit::LOOK);
            ensure!(output.code == 0 || looks, "it ends with {}", output.code);
        }
        Ok(())
    }

    /// Types the lines on this machine, where kubectl and kubectl careen are. It runs
    /// asynchronously, because the node fetches meanwhile.
    ///
    /// # Errors
    ///
    /// Fails when it ends with another code.
    pub async fn type_here(&self, lines: &str, code: u8) -> Result<String> {
        let ours = of_our_node(lines);
        println!("\n$ {ours}");
        let typed = [
            programs::ours("kubectl-careen")?,
            self.plane.program("kubectl"),
        ];
        let folders = typed.map(|program| program.with_file_name("").display().to_string());
        let path = std::env::var("PATH").unwrap_or_default();
        // kubectl careen asks before it begins, but not without a terminal. script(1) provides one.
        let mut script = Command::new("script");
        script
            .args(["--quiet", "--return", "--flush"])
            .args(["--command", "bash -ec \"$TYPED\"", "/dev/null"])
            .env("TYPED", &ours)
            .env("PATH", format!("{}:{path}", folders.join(":")))
            .env("KUBECONFIG", self.plane.admin_kubeconfig())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let mut shell = script.spawn().context("cannot start script(1)")?;
        // Keep it open until everything has ended.
        let mut keyboard = shell.stdin.take();
        if let Some(keyboard) = &mut keyboard
            && ours.contains(ASKS)
        {
            keyboard.write_all(b"y\n").await?;
        }
        let ended = within(PATIENCE, shell.wait_with_output()).await;
        let output = ended.with_context(|| format!("no end within {PATIENCE:?}"))??;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        print!("{text}{}", String::from_utf8_lossy(&output.stderr));
        ensure!(
            output.status.code() == Some(i32::from(code)),
            "it ends with {}, not with {code}",
            output.status
        );
        Ok(text)
    }

    /// Waits until the Node gives this answer and accepts pods.
    ///
    /// # Errors
    ///
    /// Fails when it does not in time.
    pub async fn wait_answer(&mut self, wanted: Answer) -> Result<View> {
        let what = format!("{} and Ready", wanted.as_str());
        let answered = |view: &View| {
            view.answer.as_deref() == Some(wanted.as_str()) && view.ready && view.schedulable
        };
        self.node.wait(&what, PATIENCE, answered).await
    }

    /// Waits until the Node has this kubelet.
    ///
    /// # Errors
    ///
    /// Fails when it does not in time.
    pub async fn expect_kubelet(&mut self, version: &str) -> Result<()> {
        let has = |view: &View| view.kubelet == version;
        self.node.wait(version, PATIENCE, has).await.map(drop)
    }

    /// The id of the running boot.
    ///
    /// # Errors
    ///
    /// Fails when the node does not answer.
    pub async fn boot_id(&mut self) -> Result<String> {
        self.guest.run("cat /proc/sys/kernel/random/boot_id").await
    }

    /// Checks that the node runs this commit and that no one-shot is left.
    ///
    /// # Errors
    ///
    /// Fails when either check fails.
    pub async fn expect_runs(&mut self, commit: &str) -> Result<()> {
        let look = "until mountpoint -q /boot; do sleep 0.2; done; ! grep -qa '^next_entry=.' /boot/grub/grubenv && \
                    ostree admin status --skip-signatures | awk '$1 == \"*\" { print $3 }' | cut -d. -f1";
        let runs = self.guest.run_within(look, BOOT).await?;
        ensure!(runs == commit, "{runs} runs, not {commit}");
        self.progress.step(&format!("{} runs", &commit[..8]));
        Ok(())
    }

    /// Collects what a person needs after a failure, as files in `dir`. The console log is there
    /// even if the node does not answer.
    pub async fn keep_evidence(&mut self, dir: &Path) {
        let _ = fs::write(dir.join("node.txt"), format!("{:#?}\n", self.node.now()));
        let look = "journalctl --no-pager -o short-monotonic | tail -n 20000; systemctl --failed; ostree admin status --skip-signatures";
        if let Ok(output) = self.guest.try_run(look, Duration::from_secs(120)).await {
            let _ = fs::write(dir.join("journal.txt"), output.text);
        }
    }
}

/// Replaces the pages' node name with our node's.
fn of_our_node(lines: &str) -> String {
    let named = |line: &str| {
        let words = line.split(' ').map(|word| match word {
            name if NAMES.contains(&name) => NAME,
            other => other,
        });
        words.collect::<Vec<_>>().join(" ")
    };
    lines.lines().map(named).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_node_is_ours_wherever_it_stands_in_a_line() {
        let lines = "kubectl annotate node N --overwrite \\\n  careen.dev/image=N\nkubectl careen explain worker-1\n";
        let ours = format!(
            "kubectl annotate node {NAME} --overwrite \\\n  careen.dev/image=N\nkubectl careen explain {NAME}"
        );
        assert_eq!(of_our_node(lines), ours);
    }
}
