//! A Machine of Cluster API takes a prepared host: the host boots the Machine's image on trial and
//! keeps it, joins with the bootstrap data, and is the Machine's Node. The Machine goes, and the
//! host fences itself, cleans itself, reboots and is free for the next one.

use super::prelude::*;
use rig::prepared_host::PreparedHost;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "a-prepared-host-joins-and-is-given-back",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// The version of the image.
const VERSION: &str = "v1.36.3";

/// Fails if the host has kept anything that makes it a node.
const CLEAN: &str = "! test -e /etc/kubernetes/kubelet.conf && ! test -e /var/lib/kubelet/config.yaml \
    && ! systemctl -q is-active kubelet && test -z \"$(ls /etc/kubernetes/manifests 2>/dev/null)\"";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    rig.progress
        .step("the node leaves its cluster and registers as a host");
    let host = PreparedHost::of(rig, VERSION).await?;
    rig.guest.run(CLEAN).await?;

    rig.progress
        .step("a Machine takes the host: image, trial, join");
    let trials = rig.trials();
    host.ask(&image.pinned(), (1, VERSION)).await?;
    let id = host.until_running().await?;
    rig.expect_runs(&image.digest).await?;
    ensure!(
        rig.trials() == trials + 1,
        "not one trial: {}",
        rig.trials()
    );
    let node = host.node().await?;
    let node = node
        .and_then(|node| node.spec)
        .and_then(|spec| spec.provider_id);
    ensure!(node.as_ref() == Some(&id), "{node:?} is not {id}");

    rig.progress.step("the Machine goes, and the host is clean");
    host.give_back().await?;
    host.until_phase("Available").await?;
    ensure!(host.node().await?.is_none(), "the Node is still there");
    rig.guest.run(CLEAN).await.map(drop)
}
