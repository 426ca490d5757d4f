//! A member of a control plane whose upgrade halts. The control plane manager remediates before it
//! waits for an update in place, so a health check could cost this member.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use careen_tests::fleet::images::{FIRST, LATEST};
use careen_tests::in_memory::{Agents, InMemory, create, health};
use careen_tests::machines::{self, Machine, core, identities, until_all_serve};
use careen_tests::rollout::Rollout;
use careen_tests::world::{self, World};
use kube::api::{Patch, PatchParams};
use provider::names;
use serde_json::json;
use testkit::cluster_api::cluster::Rolling;

use crate::VERSION;

const NAME: &str = "in-memory-hurt";

/// Three members and one worker.
const COUNT: usize = 4;

/// Longer than the health check needs to have a Machine deleted.
const WATCHED: Duration = Duration::from_secs(15);

/// The Machine whose upgrade has halted.
async fn until_one_is_hurt(world: &World) -> Result<Machine> {
    let halted = |machine: &&Machine| machine.message("Updating").contains("its member of etcd");
    let one = |all: &[Machine]| all.iter().any(|machine| halted(&machine));
    machines::until(&world.client, NAME, "one hurt", one).await?;
    let all = machines::all(&world.client, NAME).await?;
    all.into_iter()
        .find(|machine| halted(&machine))
        .context("healed")
}

#[test]
fn hurt_member_is_not_deleted_and_holds_the_others() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        let provider = InMemory::start(VERSION, world.plane, &world.client).await?;
        let rolling = Rolling {
            max_surge: 0,
            max_unavailable: 1,
        };
        let cluster = create(&world.client, NAME, FIRST.version, (1, rolling)).await?;
        let before = until_all_serve(&world.client, NAME, COUNT, FIRST.version).await?;
        let agents = Agents::start(&world.client, NAME, 1).await?;
        health::check_control_plane(&cluster, 1).await?;
        health::until_checked(&cluster, health::CONTROL_PLANE, 3).await?;
        let rollout = Rollout::watch(&world.client, NAME).await?;
        agents.hurt(true);
        cluster.upgrade_control_plane(LATEST.version).await?;
        let hurt = until_one_is_hurt(world).await?;
        tokio::time::sleep(WATCHED).await;
        let now = machines::all(&world.client, NAME).await?;
        println!("{}", rollout.lines());
        assert_eq!(identities(&before), identities(&now));
        assert_eq!((rollout.gone(), rollout.most_updating()), (0, 1));

        // A person has repaired the member.
        agents.hurt(false);
        let retry = json!({ "metadata": { "annotations": { names::RETRY: "1" } } });
        let machines = core(&world.client, "Machine", NAME)?;
        let how = PatchParams::default();
        machines
            .patch(&hurt.name(), &how, &Patch::Merge(retry))
            .await?;
        let serve = |all: &[Machine]| {
            let mut members = all.iter().filter(|machine| machine.is_control_plane());
            members.all(|member| member.serves(LATEST.version))
        };
        let after = machines::until(&world.client, NAME, "all upgraded", serve).await?;
        assert_eq!(identities(&before), identities(&after));
        ensure!(rollout.most_updating() == 1, "two at once");
        // Their API server disappears with the Cluster.
        drop(agents);
        cluster.remove().await?;
        provider.check().await
    })
}
