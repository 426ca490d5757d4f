//! A DaemonSet from a registry brings a newer agent to a node, and that agent upgrades the node. A
//! rollout of the DaemonSet in the middle of the upgrade waits until the upgrade has ended. The units
//! of the new image take precedence over the pod's. Then an uninstall leaves the image's agent. Helm
//! does all of it, as docs/daemonset.md describes.

use anyhow::Context;
use rig::daemonset::{DaemonSet, expect_agent, expect_removed, log, rolled_out, said_in_any_boot};
use rig::terminal::typed;

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-daemonset-rolls-out-in-the-middle-of-an-upgrade",
    core: false,
    disk: DiskKind::Bios,
    images: &["v1-later"],
    run: |rig| Box::pin(run(rig)),
};

/// Both are newer than the agents in the node's images, which have Cargo's version.
const FIRST: &str = "0.1.98";
const SECOND: &str = "0.1.99";

/// Selects the nodes, and allows pods to mount folders of the host.
const BEFORE: [&str; 2] = [
    "kubectl label node node1 ostree=yes",
    "kubectl apply -f packaging/daemonset/namespace.yaml",
];
const INSTALL: &str = "helm -n careen install careen packaging/daemonset/chart --set nodeSelector.ostree=yes --set image=";
/// The common part of the upgrade commands; the changed values follow.
const UPGRADE_TO: &str =
    "helm -n careen upgrade careen packaging/daemonset/chart --reuse-values --set ";
const AFTER: [&str; 2] = [
    "helm -n careen uninstall careen",
    "kubectl label node -l ostree=yes ostree-",
];
/// Lists the DaemonSet and Helm's release data. A pod may still be terminating.
const IN_THE_CLUSTER: &str = "kubectl -n careen get daemonsets,secrets -o name";

/// The second version's pod looks every five seconds. A long trial gives it enough looks to change
/// something, if it would.
const LONG_TRIAL: &str = "[health]\nsoak-seconds = 60";

/// The path of the agent's unit file, and what it is when the image's unit takes precedence.
const UNIT: &str = "systemctl show --value -p FragmentPath careen-agent";
const UNIT_OF_THE_IMAGE: &str = "/usr/lib/systemd/system/careen-agent.service";

/// What the agents of all boots have logged.
const AGENTS_LOG: &str = "journalctl --quiet --unit careen-agent --output cat";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v1-later")?;
    let daemonset = DaemonSet::offered(rig, &[FIRST, SECOND]).await?;
    let before = rig.before().await?;

    rig.progress.step("the DaemonSet comes");
    for line in BEFORE {
        typed(rig, line).await?;
    }
    let install = format!("{INSTALL}{}", daemonset.image(FIRST)?);
    typed(rig, &install).await?;
    rolled_out(rig).await?;
    expect_agent(rig, FIRST).await?;
    expect_the_agents_log(rig).await?;

    rig.policy(LONG_TRIAL).await?;
    rig.ask(&image).await?;
    rig.wait_phase("Fetched", UPGRADE).await?;
    rig.progress.step("the DaemonSet rolls out another version");
    let update = format!("{UPGRADE_TO}image={}", daemonset.image(SECOND)?);
    typed(rig, &update).await?;
    // Otherwise a pod that arrives after the upgrade would pass all that follows.
    let waits = format!("an upgrade of this node is under way; {SECOND}-");
    said_in_any_boot(rig, &waits).await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()?;
    expect_one_agent_up_to_the_blessing(rig).await?;

    rig.progress
        .step("now that it has ended the roll-out goes on");
    rolled_out(rig).await?;
    expect_agent(rig, SECOND).await?;
    let unit = rig.guest.run(UNIT).await?;
    ensure!(unit == UNIT_OF_THE_IMAGE, "the agent's unit is {unit}");

    rig.progress.step("uninstall");
    typed(rig, &format!("{UPGRADE_TO}mode=uninstall")).await?;
    rolled_out(rig).await?;
    expect_removed(rig).await?;
    for line in AFTER {
        typed(rig, line).await?;
    }
    let left = typed(rig, IN_THE_CLUSTER).await?;
    ensure!(left.is_empty(), "helm uninstall has left {left}");
    Ok(())
}

/// Checks that the pod shows the log of the agent on the host as its own.
async fn expect_the_agents_log(rig: &mut Rig) -> Result<()> {
    let log = log(rig).await?;
    ensure!(log.contains("watching Node"), "kubectl logs shows {log}");
    Ok(())
}

/// Checks that no other agent started between the pod that brought this one and the blessing,
/// including the reboot into the trial.
async fn expect_one_agent_up_to_the_blessing(rig: &mut Rig) -> Result<()> {
    let log = rig.guest.run(AGENTS_LOG).await?;
    let blessed = log.lines().position(|line| line.starts_with("Blessed"));
    let blessed = blessed.context("the agent's log does not say Blessed")?;
    let lines = log.lines().take(blessed);
    let ran: Vec<_> = lines.filter(|line| line.starts_with("running ")).collect();
    let first = format!("running {FIRST} ");
    ensure!(
        ran.len() >= 2 && ran.iter().all(|line| line.starts_with(&first)),
        "before the blessing other agents were started than {FIRST} alone, in two boots: {ran:#?}"
    );
    Ok(())
}
