//! In `wanted.d`, a check that fails and one that hangs neither change nor delay the verdict. The
//! journal says that they failed.

use anyhow::Context;

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "wanted-checks-decide-nothing",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2-same-kernel"],
    run: |rig| Box::pin(run(rig)),
};

/// The hanging check may run much longer than a trial takes to its verdict. A verdict that waited
/// for it would come too late.
const POLICY: &str = "[health]\ncheck-seconds = 150\ncheck-tries = 1";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2-same-kernel")?;
    rig.policy(POLICY).await?;
    check(rig, "10-doubt", "echo the rig doubts; exit 1").await?;
    check(rig, "20-hang", "sleep infinity").await?;
    let before = rig.before().await?;
    rig.ask(&image).await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.guest
        .run("pgrep -f '[2]0-hang'")
        .await
        .context("the hanging check had ended before the verdict, so nothing was shown")?;
    rig.wait_guest(
        "until journalctl --quiet --boot --unit careen-agent --grep 'wanted check 10-doubt failed .*: the rig doubts' | grep -q .; do sleep 1; done",
    )
    .await
}

/// /etc goes along with the new system, and so does the check.
async fn check(rig: &mut Rig, name: &str, script: &str) -> Result<()> {
    let file = format!("/etc/careen/wanted.d/{name}");
    let lay = format!(
        "umask 022; mkdir -p /etc/careen/wanted.d; printf '%s\\n' '#!/bin/sh' '{script}' >{file}; chmod 755 {file}"
    );
    rig.guest.run(&lay).await.map(drop)
}
