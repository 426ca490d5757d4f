//! A DaemonSet arrives on a node whose image contains nothing of Careen, and the generator gives
//! systemd the DaemonSet's units. The images have the guard in their initramfs and nothing else.
//! The DaemonSet's units and programs serve the trial, from the check before the kubelet to the
//! verdict. A node with such an image falls back from a bad one.

use std::collections::BTreeSet;

use rig::daemonset::{DaemonSet, expect_agent, rolled_out};
use rig::images::Commit;

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-daemonset-serves-images-without-an-agent",
    core: false,
    disk: DiskKind::Bios,
    images: &["guard-alone", "guard-alone-kubelet-crash"],
    run: |rig| Box::pin(run(rig)),
};

/// Newer than the agent in the node's first image, which has Cargo's version.
const VERSION: &str = "0.1.98";

/// Hides the image's Careen files, in this boot only, with an overlay over each folder that has
/// any.
const HIDE: &str = "set -e
systemctl stop careen-agent
for at in lib/systemd/system libexec; do
  work=/var/tmp/without/$at
  mkdir -p $work/upper $work/work
  mount -t overlay overlay -o lowerdir=/usr/$at,upperdir=$work/upper,workdir=$work/work /usr/$at
done
rm -r /usr/libexec/careen
find /usr/lib/systemd/system -path '*careen-*' ! -type d -delete
rm -r /usr/lib/systemd/system/ostree-finalize-staged.service.d
rm -r /usr/lib/systemd/system/bootloader-update.service.d /usr/lib/systemd/system/systemd-boot-update.service.d
systemctl daemon-reload
! systemctl cat careen-agent 2>/dev/null";

/// The path of the agent's unit file.
const UNIT: &str = "systemctl show --value -p FragmentPath careen-agent";

/// Lists the image's Careen files.
const OF_THE_IMAGE: &str =
    "ls -d /usr/libexec/careen /usr/lib/systemd/system/careen-* 2>/dev/null || :";

/// The units that run in a trial and stay active until the next boot.
const IN_A_TRIAL: [&str; 4] = [
    "careen-agent.service",
    "careen-check.service",
    "careen-kubeadm.service",
    "careen-gate.service",
];
/// The units that run in any other boot.
const IN_THE_OLD_SYSTEM: [&str; 2] = ["careen-agent.service", "careen-restore.service"];

/// Waits for the deadman's first look. It looks every half minute, until the trial is blessed.
const DEADMAN_LOOKED: &str = "until journalctl --quiet --boot --unit careen-deadman.service | grep -q 'so the deadman ends'; do sleep 1; done";

/// A boot counter would wait for this target. Nothing on this machine requires it.
const BOOT_COMPLETE: &str = "systemctl start boot-complete.target";

async fn run(rig: &mut Rig) -> Result<()> {
    let first = rig.image("guard-alone")?;
    let bad = rig.image("guard-alone-kubelet-crash")?;
    let daemonset = DaemonSet::offered(rig, &[VERSION]).await?;
    rig.before().await?;
    rig.progress.step("the image has nothing of Careen");
    rig.guest.run(HIDE).await?;
    rig.progress.step("the DaemonSet comes");
    daemonset.apply(rig, "install", VERSION).await?;
    rolled_out(rig).await?;
    expect_agent(rig, VERSION).await?;
    expect_unit(rig, "/run/systemd/generator.late/careen-agent.service").await?;
    upgraded_by_the_pods_agent(rig, &first).await?;
    back_from_a_bad_one(rig, &bad).await?;
    let trials = rig.trials();
    ensure!(trials == 2, "two images were tried {trials} times");
    Ok(())
}

async fn expect_unit(rig: &mut Rig, path: &str) -> Result<()> {
    let found = rig.guest.run(UNIT).await?;
    ensure!(found == path, "the agent's unit is {found}, not {path}");
    Ok(())
}

async fn upgraded_by_the_pods_agent(rig: &mut Rig, image: &Commit) -> Result<()> {
    let before = rig.before().await?;
    rig.ask(image).await?;
    rig.expect_upgraded(&before, image).await?;
    rig.guest.run(BOOT_COMPLETE).await?;
    expect_the_pods(rig, &IN_A_TRIAL).await?;
    expect_agent(rig, VERSION).await?;
    rig.wait_guest(DEADMAN_LOOKED).await?;
    rig.expect_clean().await?;
    rig.withdraw().await
}

async fn back_from_a_bad_one(rig: &mut Rig, bad: &Commit) -> Result<()> {
    rig.progress.step("and to a bad one");
    rig.policy("[health]\ndeadline-seconds = 240").await?;
    let before = rig.before().await?;
    rig.ask(bad).await?;
    let view = rig.expect_fallback(&before, &["Unhealthy"]).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("kubelet"),
        "the reason does not name the kubelet: {reason}"
    );
    expect_the_pods(rig, &IN_THE_OLD_SYSTEM).await?;
    rig.expect_clean().await
}

/// Checks that the image has none of these units and that the pod's units did their work in this
/// boot.
async fn expect_the_pods(rig: &mut Rig, units: &[&str]) -> Result<()> {
    let of_the_image = rig.guest.run(OF_THE_IMAGE).await?;
    ensure!(of_the_image.is_empty(), "the image has {of_the_image}");
    for unit in units {
        let show = format!("systemctl show --value -p FragmentPath -p ActiveState {unit}");
        let found = rig.guest.run(&show).await?;
        let lines: BTreeSet<_> = found.lines().collect();
        let path = format!("/run/systemd/generator.late/{unit}");
        let wanted = BTreeSet::from([path.as_str(), "active"]);
        ensure!(lines == wanted, "{unit} is {lines:?}, not {wanted:?}");
    }
    Ok(())
}
