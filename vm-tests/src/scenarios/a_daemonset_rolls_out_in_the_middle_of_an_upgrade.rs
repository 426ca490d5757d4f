//! A DaemonSet, its image pulled from a registry, brings a newer agent to a node, that agent upgrades the node, and the DaemonSet's own
//! roll-out in the middle of it waits until it has ended. Then an uninstall leaves the image's agent. All of it by Helm, as docs/daemonset.md says.

use anyhow::Context;

use super::prelude::*;
use crate::daemonset::{
    DaemonSet, expect_agent, expect_removed, log, rolled_out, said_in_any_boot,
};
use crate::terminal::typed;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-daemonset-rolls-out-in-the-middle-of-an-upgrade",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// Both newer than the agents of the node's images, which are of Cargo's version.
const FIRST: &str = "0.1.98";
const SECOND: &str = "0.1.99";

/// Of which nodes, and that a pod may mount folders of the host.
const BEFORE: [&str; 2] = [
    "kubectl label node node1 ostree=yes",
    "kubectl apply -f packaging/daemonset/namespace.yaml",
];
const INSTALL: &str = "helm -n careen install careen packaging/daemonset/chart --set nodeSelector.ostree=yes --set image=";
/// To be followed by what changes.
const UPGRADE_TO: &str =
    "helm -n careen upgrade careen packaging/daemonset/chart --reuse-values --set ";
const AFTER: [&str; 2] = [
    "helm -n careen uninstall careen",
    "kubectl label node -l ostree=yes ostree-",
];
/// The DaemonSet, and what Helm keeps of a release. A pod may still be on its way out.
const IN_THE_CLUSTER: &str = "kubectl -n careen get daemonsets,secrets -o name";

/// The second version's pod looks every five seconds, and is to have looked at a trial often enough to have changed something.
const LONG_TRIAL: &str = "[health]\nsoak-seconds = 60";

/// What the agents of all boots have said.
const AGENTS_LOG: &str = "journalctl --quiet --unit careen-agent --output cat";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
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
    // Or all that follows would be so of a pod that comes when it is over.
    let waits = format!("an upgrade of this node is under way; {SECOND}-");
    said_in_any_boot(rig, &waits).await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()?;
    expect_one_agent_up_to_the_blessing(rig).await?;

    rig.progress
        .step("now that it has ended the roll-out goes on");
    rolled_out(rig).await?;
    expect_agent(rig, SECOND).await?;

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

/// The pod shows the log of the agent on the host as its own.
async fn expect_the_agents_log(rig: &mut Rig) -> Result<()> {
    let log = log(rig).await?;
    ensure!(log.contains("watching Node"), "kubectl logs shows {log}");
    Ok(())
}

/// From the pod that brought it to the blessing, over the reboot into the trial, no other agent was started.
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
