//! The disk turns read-only in the middle of the fetch, as ext4 does after an error. The agent does
//! nothing that it cannot record, and the Node says so. After a power cycle the upgrade continues.

use super::prelude::*;
use upgrade::Reason;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-read-only-disk-is-told-and-a-reboot-goes-on",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// The kernel's own emergency remount. It remounts every file system, even one with files open for
/// writing (Documentation/admin-guide/sysrq.rst).
const READ_ONLY: &str =
    "sync; echo u > /proc/sysrq-trigger; while touch /var/probe 2>/dev/null; do sleep 0.1; done";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    rig.repo.limit(1_000_000);
    rig.ask(&image).await?;
    rig.wait_served(3_000_000).await?;
    rig.wait_guest(READ_ONLY).await?;
    rig.progress.step("the disk is read-only");
    let unwritten = Reason::RecordUnwritten {
        detail: String::new(),
    };
    let code = unwritten.code();
    let view = rig
        .node
        .wait("the Node to say why it stands", UPGRADE, move |view| {
            let status = view.status.as_ref();
            status.and_then(|status| status.code.as_deref()) == Some(&code)
        })
        .await?;
    ensure!(
        view.answer.as_deref() == Some(Answer::InProgress.as_str()),
        "the read-only disk ended the upgrade: {view:#?}"
    );
    rig.cut_power()?;
    rig.repo.limit(0);
    rig.power_on().await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()
}
