//! Every bad request is refused with its own reason, and only the answer changes.

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "bad-requests-are-refused",
    core: false,
    disk: DiskKind::Bios,
    images: &[
        "wrong-key",
        "no-stage",
        "no-deadman",
        "no-kernel",
        "other-arch",
        "downgrade",
        "too-new",
        "v2",
    ],
    run: |rig| Box::pin(run(rig)),
};

/// Images that are invalid in themselves, and what the Node says about them.
const IMAGES: &[(&str, &str)] = &[
    ("wrong-key", "WrongSignature"),
    ("no-stage", "NoStage"),
    ("no-deadman", "NoAgent"),
    ("no-kernel", "NoKernel"),
    ("other-arch", "WrongArchitecture"),
    ("downgrade", "Downgrade"),
    ("too-new", "NewerThanApiServer"),
];

/// Requests that are invalid before the agent looks at any image.
const TEXTS: &[(&str, &str)] = &[
    ("nonsense", "BadRequest"),
    ("ostree:careen:no-such-ref", "NoSuchRef"),
    ("ostree:elsewhere:v2", "RemoteNotAllowed"),
];

async fn run(rig: &mut Rig) -> Result<()> {
    let before = rig.before().await?;
    let traces = rig.traces().await?;
    for (text, code) in TEXTS {
        refused(rig, text, code).await?;
    }
    for (name, code) in IMAGES {
        let image = rig.image(name)?;
        refused(rig, &image.pinned(), code).await?;
    }
    rig.expect_untouched(&before, &traces).await?;
    rig.progress.step("the remote is away");
    rig.repo.go_away();
    let image = rig.image("v2")?;
    rig.policy("tries = 2\nretry-seconds = 1").await?;
    let traces = rig.traces().await?;
    refused(rig, &image.pinned(), "RemoteAway").await?;
    rig.expect_untouched(&before, &traces).await?;
    rig.repo.come_back().await
}

async fn refused(rig: &mut Rig, image: &str, code: &str) -> Result<()> {
    rig.ask_raw(image).await?;
    rig.expect_failed(&[code], 5 * MINUTE).await?;
    ensure!(rig.deployments().await? == 1, "something was deployed");
    rig.withdraw().await
}
