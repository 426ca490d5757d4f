//! The machine that boots the disk, and its cluster. What the pages leave to "as on any node" the rig does as it does it for its own.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use upgrade::exit;
use upgrade::report::Answer;

use crate::control_plane::ControlPlane;
use crate::guest::Guest;
use crate::joined;
use crate::node::{NAME, NodeWatch, View};
use crate::patience::within;
use crate::programs;
use crate::progress::Progress;
use crate::qemu::{Firmware, Machine, Running};
use crate::rig::BOOT;

/// An upgrade with two boots of an image that nobody has made small for an emulated machine.
const PATIENCE: Duration = Duration::from_secs(3600);

/// What the pages call the node.
const NAMES: [&str; 2] = ["N", "worker-1"];

/// What asks before it begins.
const ASKS: &str = "kubectl careen upgrade";

/// A machine, switched on, and a cluster.
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
    /// When a part does not start, or the machine does not come up.
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

    /// Gives the node its name, and joins it.
    ///
    /// # Errors
    /// When it does not join, or does not get Ready.
    pub async fn join(&mut self) -> Result<()> {
        let name = format!("systemctl is-system-running --wait; hostnamectl set-hostname {NAME}");
        self.guest.run_within(&name, BOOT).await?;
        joined::join(&mut self.guest, &self.plane, &self.progress).await
    }

    /// Appends to the policy that the package has brought.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn policy(&mut self, text: &str) -> Result<()> {
        let write = format!("cat >>/etc/careen/policy.toml <<'END'\n{text}END\n");
        self.guest.run(&write).await.map(drop)
    }

    /// Types each line by itself on the node. The doctor may find something to look at.
    ///
    /// # Errors
    /// When one ends otherwise than it should.
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

    /// Types it on this machine, where kubectl and kubectl careen are. Beside everything else: the node fetches meanwhile.
    ///
    /// # Errors
    /// When it ends otherwise.
    pub async fn type_here(&self, lines: &str, code: u8) -> Result<String> {
        let ours = of_our_node(lines);
        println!("\n$ {ours}");
        let typed = [
            programs::ours("kubectl-careen")?,
            self.plane.program("kubectl"),
        ];
        let folders = typed.map(|program| program.with_file_name("").display().to_string());
        let path = std::env::var("PATH").unwrap_or_default();
        // kubectl careen asks before it begins, and without a terminal it asks nobody: script(1) is one.
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
        // Open until all has ended.
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

    /// Waits until the Node answers so, and takes pods.
    ///
    /// # Errors
    /// When it does not in time.
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
    /// When it does not in time.
    pub async fn expect_kubelet(&mut self, version: &str) -> Result<()> {
        let has = |view: &View| view.kubelet == version;
        self.node.wait(version, PATIENCE, has).await.map(drop)
    }

    /// The boot that runs.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn boot_id(&mut self) -> Result<String> {
        self.guest.run("cat /proc/sys/kernel/random/boot_id").await
    }

    /// The node runs this commit, and no one-shot is left.
    ///
    /// # Errors
    /// When it is not so.
    pub async fn expect_runs(&mut self, commit: &str) -> Result<()> {
        let look = "until mountpoint -q /boot; do sleep 0.2; done; ! grep -qa '^next_entry=.' /boot/grub/grubenv && \
                    ostree admin status --skip-signatures | awk '$1 == \"*\" { print $3 }' | cut -d. -f1";
        let runs = self.guest.run_within(look, BOOT).await?;
        ensure!(runs == commit, "{runs} runs, not {commit}");
        self.progress.step(&format!("{} runs", &commit[..8]));
        Ok(())
    }

    /// What a person needs after a failure, as files in `dir`. One that does not answer has its console there.
    pub async fn keep_evidence(&mut self, dir: &Path) {
        let _ = fs::write(dir.join("node.txt"), format!("{:#?}\n", self.node.now()));
        let look = "journalctl --no-pager -o short-monotonic | tail -n 20000; systemctl --failed; ostree admin status --skip-signatures";
        if let Ok(output) = self.guest.try_run(look, Duration::from_secs(120)).await {
            let _ = fs::write(dir.join("journal.txt"), output.text);
        }
    }
}

/// Lines with our node in the place of the pages'.
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
