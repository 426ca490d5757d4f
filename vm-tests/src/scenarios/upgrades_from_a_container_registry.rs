//! An image comes from a container registry: one that nobody signed and one that is not there leave the node as it was, the good one
//! upgrades it.

use super::prelude::*;
use crate::images::Commit;
use crate::registry::Registry;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "upgrades-from-a-container-registry",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2", "unsigned"],
    run: |rig| Box::pin(run(rig)),
};

/// The commit inside must have been signed by whom the OSTree remote trusts.
const POLICY: &str = "[registry]\nsigned-by = \"careen\"";

async fn run(rig: &mut Rig) -> Result<()> {
    let registry = Registry::start(&rig.dir().join("registry")).await?;
    let good = rig.image("v2")?;
    let pushed = push(rig, &registry, &good).await?;
    let unsigned = rig.image("unsigned")?;
    let unsigned = push(rig, &registry, &unsigned).await?;
    let missing = format!(
        "docker://{}/os@sha256:{}",
        registry.seen_from_guest(),
        "0".repeat(64)
    );

    registry.introduce_to(&mut rig.guest).await?;
    rig.policy(POLICY).await?;
    let before = rig.before().await?;
    let traces = rig.traces().await?;
    for (image, code) in [(unsigned, "Unsigned"), (missing, "NoSuchImage")] {
        rig.ask_raw(&image).await?;
        rig.expect_failed(&[code], 5 * MINUTE).await?;
        rig.expect_untouched(&before, &traces).await?;
        rig.withdraw().await?;
    }

    rig.ask_raw(&pushed).await?;
    rig.expect_upgraded(&before, &good).await.map(drop)
}

async fn push(rig: &Rig, registry: &Registry, commit: &Commit) -> Result<String> {
    rig.progress
        .step(&format!("careen-image pushes {}", commit.reference));
    registry.push_commit(commit).await
}
