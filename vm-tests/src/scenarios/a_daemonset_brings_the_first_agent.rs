//! A DaemonSet arrives on a node whose image contains nothing of Careen. The generator gives
//! systemd the DaemonSet's units. The DaemonSet's agent upgrades the node to an image with an
//! agent, and there the image's units take precedence.

use super::prelude::*;
use crate::daemonset::{DaemonSet, expect_agent, rolled_out};

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-daemonset-brings-the-first-agent",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Newer than the agents in the node's images, which have Cargo's version.
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

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let daemonset = DaemonSet::offered(rig, &[VERSION]).await?;
    let before = rig.before().await?;
    rig.progress.step("the image has nothing of Careen");
    rig.guest.run(HIDE).await?;

    rig.progress.step("the DaemonSet comes");
    daemonset.apply(rig, "install", VERSION).await?;
    rolled_out(rig).await?;
    expect_agent(rig, VERSION).await?;
    expect_unit(rig, "/run/systemd/generator.late/careen-agent.service").await?;

    rig.ask(&image).await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()?;
    expect_unit(rig, "/usr/lib/systemd/system/careen-agent.service").await?;
    rolled_out(rig).await?;
    expect_agent(rig, VERSION).await
}

async fn expect_unit(rig: &mut Rig, path: &str) -> Result<()> {
    let found = rig.guest.run(UNIT).await?;
    ensure!(found == path, "the agent's unit is {found}, not {path}");
    Ok(())
}
