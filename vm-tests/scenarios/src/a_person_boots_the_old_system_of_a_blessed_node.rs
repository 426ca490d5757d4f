//! The new system is the default, but the Node does not say so yet. The power is cut, and a person
//! selects the old system in the boot menu. It serves, the agent undoes and arms nothing, and the
//! Node says what a person must decide.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-person-boots-the-old-system-of-a-blessed-node",
    core: false,
    disk: DiskKind::Bios,
    images: &["v1-later"],
    run: |rig| Box::pin(run(rig)),
};

/// Nobody can type at this machine, so the script makes the person's choice the menu's default. It
/// freezes the file system for a moment, because GRUB does not replay the journal.
const PICK: &str = "sed -i 's/^set default=0$/set default=1/' /boot/loader/grub.cfg && grep -q '^set default=1$' /boot/loader/grub.cfg && sync && fsfreeze --freeze /boot && fsfreeze --unfreeze /boot";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v1-later")?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    rig.wait_boot(Some(&before.boot)).await?;
    // The agent is stopped before it updates the Node.
    rig.wait_record("\"name\": \"Blessed\"", "pkill -STOP -x careen-agent")
        .await?;
    rig.guest.run(PICK).await?;
    rig.cut_power()?;
    rig.power_on().await?;
    rig.wait_boot(None).await?;
    ensure!(
        rig.booted().await? == before.commit,
        "it is not the old system that was picked"
    );
    rig.expect_failed(&["ForeignDefault"], UPGRADE).await?;
    let boot = rig.boot_id().await?;
    let serves = |view: &rig::node::View| view.ready && view.schedulable && view.boot == boot;
    rig.node
        .wait("the old system serves", 5 * MINUTE, serves)
        .await?;
    rig.expect_disarmed().await?;
    ensure!(
        rig.booted().await? == before.commit && rig.default_commit().await? == image.digest,
        "something was undone, or booted, that nobody has asked for"
    );
    rig.expect_told_as_recorded().await
}
