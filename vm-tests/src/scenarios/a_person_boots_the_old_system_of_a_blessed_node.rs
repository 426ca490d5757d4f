//! The new system is the default and not yet told of, the power goes, and a person picks the old one in the boot menu: it serves, nothing is
//! undone or armed, and the Node says what a person has to decide.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-person-boots-the-old-system-of-a-blessed-node",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Nobody types at this machine: what a person would pick is made the choice of the menu itself. The file system is frozen for a moment,
/// because GRUB replays no journal.
const PICK: &str = "sed -i 's/^set default=0$/set default=1/' /boot/loader/grub.cfg && grep -q '^set default=1$' /boot/loader/grub.cfg && sync && fsfreeze --freeze /boot && fsfreeze --unfreeze /boot";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    rig.wait_armed().await?;
    rig.wait_boot(Some(&before.boot)).await?;
    // Stopped where it stands, it never comes to telling.
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
    let serves = |view: &crate::node::View| view.ready && view.schedulable && view.boot == boot;
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
