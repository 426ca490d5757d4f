//! An image comes from a container registry. An unsigned image and a missing one leave the node
//! unchanged. The good one upgrades it over TLS with a client certificate, within its hours. A hook
//! asks systemd for what its own permissions do not allow. Doctor and journal report no problem.

use anyhow::Context;
use rig::images::{self, Commit};
use testkit::registry::Registry;
use testkit::secure_registry::SecureRegistry;

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "upgrades-from-a-container-registry",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2", "unsigned"],
    run: |rig| Box::pin(run(rig)),
};

/// The commit inside must be of an allowed branch and have a signature that the OSTree remote
/// trusts. The hours are always open.
fn policy(allowed: [String; 2]) -> String {
    format!(
        r#"tries = 2
retry-seconds = 1
branches = ["v*"]
[registry]
allowed = {allowed:?}
signed-by = "careen"
[window]
open = ["daily 00:00-24:00"]
trust-clock = true"#
    )
}

/// The file that the hook and its service write. /var is the same in both systems.
const WORD_OF_THE_HOOK: &str = "/var/lib/rig-hook";
const WORD_OF_THE_SERVICE: &str = "/var/lib/rig-service";

async fn run(rig: &mut Rig) -> Result<()> {
    let registry = Registry::start(&rig.dir().join("registry")).await?;
    let secure = SecureRegistry::of(&registry).await?;
    let good = rig.image("v2")?;
    let pushed = push(rig, &registry, &good).await?;
    let unsigned = rig.image("unsigned")?;
    let unsigned = push(rig, &registry, &unsigned).await?;
    let missing = format!(
        "docker://{}/os@sha256:{}",
        registry.seen_from_guest(),
        "0".repeat(64)
    );

    rig.guest.run(&registry.introduction()).await?;
    let allowed = [registry.seen_from_guest(), secure.seen_from_guest()];
    rig.policy(&policy(allowed)).await?;
    hook(rig).await?;
    rig.expect_doctor_content().await?;
    let before = rig.before().await?;
    let traces = rig.traces().await?;
    for (image, code) in [(unsigned, "Unsigned"), (missing, "NoSuchImage")] {
        rig.ask_raw(&image).await?;
        rig.expect_failed(&[code], 5 * MINUTE).await?;
        rig.expect_journal(&[("REASON", code)]).await?;
        rig.expect_journal(&[("STEP", "Fetch")]).await?;
        rig.expect_untouched(&before, &traces).await?;
        rig.withdraw().await?;
    }

    let over_tls = secure.offers(&pushed, &registry);
    rig.ask_raw(&over_tls).await?;
    rig.expect_failed(&["RemoteAway"], 5 * MINUTE).await?;
    rig.expect_untouched(&before, &traces).await?;
    rig.withdraw().await?;
    rig.guest.run(&secure.introduction()).await?;
    rig.ask_raw(&over_tls).await?;
    let view = rig.expect_upgraded(&before, &good).await?;
    let id = view.status.and_then(|status| status.id);
    let id = id.context("the status on the Node has no id")?;
    expect_hook_ran(rig, id.as_str()).await?;
    let ended = [("UPGRADE_ID", id.as_str()), ("PHASE", "Upgraded")];
    rig.expect_journal(&ended).await
}

/// A hook that starts a service and passes the upgrade's id.
async fn hook(rig: &mut Rig) -> Result<()> {
    let script = format!(
        "set -e\numask 022\n\
         cat >/etc/systemd/system/rig.service <<'END'\n\
         [Service]\nType=oneshot\nExecStart=/bin/sh -c 'date >>{WORD_OF_THE_SERVICE}'\nEND\n\
         systemctl daemon-reload\n\
         mkdir -p /etc/careen/pre.d\n\
         cat >/etc/careen/pre.d/10-rig <<'END'\n\
         #!/bin/sh\nsystemctl start rig.service && echo \"$CAREEN_UPGRADE_ID\" >>{WORD_OF_THE_HOOK}\nEND\n\
         chmod 755 /etc/careen/pre.d/10-rig\n"
    );
    rig.guest.run(&script).await.map(drop)
}

/// Checks that the hook ran once, for this upgrade, and not for the refused ones.
async fn expect_hook_ran(rig: &mut Rig, id: &str) -> Result<()> {
    let said = rig.guest.run(&format!("cat {WORD_OF_THE_HOOK}")).await?;
    ensure!(said == id, "the hook ran for {said:?}, not once for {id}");
    let started = format!("wc -l <{WORD_OF_THE_SERVICE}");
    let started = rig.guest.run(&started).await?;
    ensure!(
        started == "1",
        "the hook's service was started {started} times"
    );
    Ok(())
}

async fn push(rig: &Rig, registry: &Registry, commit: &Commit) -> Result<String> {
    rig.progress
        .step(&format!("careen-image pushes {}", commit.reference));
    registry
        .push_commit(&images::repository()?, &commit.digest, &commit.reference)
        .await
}
