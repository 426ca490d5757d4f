//! GRUB's environment block is damaged: the agent accepts no request and touches nothing. If it is
//! damaged while a trial is armed, the old system boots, and the Node says why the upgrade ended.
//! Repaired as the reason says, it accepts the next request.

use super::prelude::*;
use rig::images::Commit;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "damaged-grubenv-boots-the-old-system",
    core: false,
    disk: DiskKind::Bios,
    images: &["v1-later"],
    run: |rig| Box::pin(run(rig)),
};

/// The damage that an interrupted write, a bad disk or another program can do to the block. Each
/// name is an upgrade's id.
const DAMAGES: [(&str, &str); 4] = [
    ("cut-off", "truncate -s 512 /boot/grub/grubenv"),
    (
        "too-long",
        "printf '%0512d' 0 | tr 0 '#' >>/boot/grub/grubenv",
    ),
    (
        "garbage",
        "head -c 1024 /dev/zero | tr '\\0' x >/boot/grub/grubenv",
    ),
    ("gone", "rm /boot/grub/grubenv"),
];

/// The repair that the reason names.
const REPAIR: &str = "grub-editenv /boot/grub/grubenv create && sync";

/// Loses the first sector of the block. It writes in place, because GRUB does not replay the
/// journal.
const LOSE_A_SECTOR: &str =
    "dd if=/dev/zero of=/boot/grub/grubenv bs=512 count=1 conv=notrunc,fsync status=none";
const BLOCK: &str = "until mountpoint -q /boot; do sleep 0.2; done; cksum </boot/grub/grubenv";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v1-later")?;
    let before = rig.before().await?;
    for (damage, script) in DAMAGES {
        rig.guest
            .run(&format!("{REPAIR} && {script} && sync"))
            .await?;
        refused(rig, &before, &image, damage).await?;
    }
    rig.guest.run(REPAIR).await?;
    damaged_while_armed(rig, &before, &image).await?;
    rig.guest.run(REPAIR).await?;
    ask(rig, &image, "repaired").await?;
    rig.wait_phase("Fetched", UPGRADE).await.map(drop)
}

/// Requests an upgrade with an id, so that the same image can be requested again.
async fn ask(rig: &mut Rig, image: &Commit, id: &str) -> Result<()> {
    rig.expect_a_new_answer();
    rig.progress.step(&format!("asking by the id {id}"));
    rig.annotate(&[
        (names::IMAGE, Some(&image.pinned())),
        (names::UPGRADE_ID, Some(id)),
        (names::REQUEST, Some(names::REQUEST_SCHEDULED)),
    ])
    .await
}

async fn refused(rig: &mut Rig, before: &Before, image: &Commit, damage: &str) -> Result<()> {
    let traces = rig.traces().await?;
    ask(rig, image, damage).await?;
    let reason = unfit(rig, 5 * MINUTE).await?;
    ensure!(
        reason.contains("1024 bytes"),
        "what is accepted is not named: {reason}"
    );
    // The block is part of what must be unchanged.
    rig.expect_untouched(before, &traces).await
}

/// The reason, which names the block.
async fn unfit(rig: &mut Rig, limit: Duration) -> Result<String> {
    let view = rig.expect_failed(&["LoaderUnfit"], limit).await?;
    let reason = view.reason.unwrap_or_default();
    ensure!(
        reason.contains("/boot/grub/grubenv"),
        "the reason does not name the block: {reason}"
    );
    Ok(reason)
}

async fn damaged_while_armed(rig: &mut Rig, before: &Before, image: &Commit) -> Result<()> {
    let client = rig.plane.client().await?;
    // A budget that allows no eviction holds the upgrade until logind hangs. Then logind holds the
    // reboot.
    workload::allow_unavailable(&client, 0).await?;
    ask(rig, image, "armed").await?;
    rig.node
        .wait("the cordon", UPGRADE, |view| !view.schedulable)
        .await?;
    rig.hang_logind().await?;
    workload::allow_unavailable(&client, 1).await?;
    rig.wait_record("\"do\": \"Reboot\"", LOSE_A_SECTOR).await?;
    let damaged = rig.guest.run(BLOCK).await?;
    rig.cut_power()?;
    rig.power_on().await?;
    rig.wait_boot(None).await?;
    ensure!(
        rig.booted().await? == before.commit,
        "something else than the old system booted"
    );
    unfit(rig, UPGRADE).await?;
    rig.expect_old_system(before).await?;
    ensure!(rig.trials() == 0, "GRUB began a trial all the same");
    ensure!(
        rig.guest.run(BLOCK).await? == damaged,
        "somebody has written over the damaged block"
    );
    rig.expect_told_as_recorded().await
}
