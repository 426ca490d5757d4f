//! The machine's clock is at 2040 from the trial's reboot on: to both systems the API server is away, none is judged bad for it, and with the
//! right time the upgrade goes on.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "clock-in-2040-over-a-trial",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// The hardware's clock too, so that the next boot begins with it. No certificate of the cluster is valid then.
const JUMP: &str = "until grep -qa '^next_entry=.' /boot/grub/grubenv; do sleep 0.05; done; date -s 2040-01-01 >/dev/null && busybox hwclock -w -u";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.policy("[health]\ndeadline-seconds = 180\napi-away-hold-seconds = 20")
        .await?;
    rig.ask(&image).await?;
    rig.wait_guest(JUMP).await?;
    rig.progress.step("armed, and it is 2040");
    let trial = rig.wait_boot(Some(&before.boot)).await?;
    let year = rig.guest.run("date +%Y").await?;
    ensure!(year == "2040", "in the trial it is {year}");
    rig.wait_boot(Some(&trial)).await?;
    ensure!(
        rig.booted().await? == before.commit,
        "the trial did not give way to the old system"
    );
    rig.wait_uptime(90).await?;
    ensure!(
        rig.trials() == 1,
        "it was tried again though the API server is still away"
    );
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let now = now.as_secs();
    rig.guest
        .run(&format!(
            "date -s @{now} >/dev/null && busybox hwclock -w -u"
        ))
        .await?;
    rig.progress.step("it is now again");
    rig.expect_upgraded(&before, &image).await?;
    Ok(())
}
