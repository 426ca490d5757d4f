//! A plan and an upgrade both reject an unsigned container image with zstd layers. Nothing of it is
//! left on the disk. Only root can enter the repository.

use rig::images;
use testkit::registry::Registry;
use upgrade::plan::Plan;

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "unsigned-zstd-image-leaves-nothing",
    core: false,
    disk: DiskKind::Bios,
    images: &["unsigned"],
    run: |rig| Box::pin(run(rig)),
};

fn policy(registry: &Registry) -> String {
    let allowed = registry.seen_from_guest();
    format!(
        r#"tries = 2
retry-seconds = 1
[registry]
allowed = [{allowed:?}]
signed-by = "careen""#
    )
}

/// Lists all that a fetch writes, below the repository and in the state folder. The record changes
/// with each answer.
const WRITTEN: &str = "find /sysroot/ostree/repo /sysroot/ostree/careen /var/cache/careen -not -type d -not -name '*lock' \
    -not -path '*/tmp/cache/*' -not -name 'record.*' -not -name policy.toml -printf '%p %s %M\\n' 2>/dev/null | sort";

async fn run(rig: &mut Rig) -> Result<()> {
    let registry = Registry::start(&rig.dir().join("registry")).await?;
    let unsigned = rig.image("unsigned")?;
    rig.progress
        .step("careen-image writes it, skopeo pushes it packed by zstd");
    let image = registry
        .push_packed_by_zstd(
            &images::repository()?,
            &unsigned.digest,
            &unsigned.reference,
        )
        .await?;
    rig.guest.run(&registry.introduction()).await?;
    rig.policy(&policy(&registry)).await?;
    expect_closed(rig).await?;
    let before = rig.before().await?;
    let traces = rig.traces().await?;
    let disk = rig.guest.run_within(WRITTEN, MINUTE).await?;

    let planned = plan(rig, &image).await?;
    ensure!(
        planned.code.as_deref() == Some("Unsigned"),
        "the plan says {planned:#?}"
    );
    expect_the_same(rig, &disk).await?;

    rig.ask_raw(&image).await?;
    rig.expect_failed(&["Unsigned"], 5 * MINUTE).await?;
    rig.expect_untouched(&before, &traces).await?;
    expect_the_same(rig, &disk).await
}

/// The disk was made with a repository that everybody may enter, which is libostree's default.
async fn expect_closed(rig: &mut Rig) -> Result<()> {
    let mode = rig.guest.run("stat -c %a /sysroot/ostree/repo").await?;
    ensure!(mode == "700", "the repository has mode {mode}");
    let other = "setpriv --reuid 65534 --regid 65534 --clear-groups ls /sysroot/ostree/repo/objects >/dev/null 2>&1 && echo open || echo closed";
    let seen = rig.guest.run(other).await?;
    ensure!(
        seen == "closed",
        "the objects of the repository are {seen} to others"
    );
    Ok(())
}

async fn expect_the_same(rig: &mut Rig, disk: &str) -> Result<()> {
    let now = rig.guest.run_within(WRITTEN, MINUTE).await?;
    let new: Vec<_> = now.lines().filter(|line| !disk.contains(*line)).collect();
    ensure!(now == disk, "the disk is another one; new on it: {new:#?}");
    Ok(())
}

async fn plan(rig: &mut Rig, image: &str) -> Result<Plan> {
    let question = format!("{image} asked-by-the-rig");
    rig.progress.step(&format!("asking for a plan of {image}"));
    rig.annotate(&[(names::PLAN, Some(&question))]).await?;
    let read = |text: &String| serde_json::from_str::<Plan>(text).ok();
    let answer = |plan: Option<&String>| plan.and_then(read).filter(|one| one.asked == question);
    let answered = |view: &rig::node::View| answer(view.plan.as_ref()).is_some();
    let view = rig.node.wait("the plan", 10 * MINUTE, answered).await?;
    rig.annotate(&[(names::PLAN, None)]).await?;
    Ok(answer(view.plan.as_ref()).unwrap_or_default())
}
