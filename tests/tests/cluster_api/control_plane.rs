//! KubeadmControlPlanes on the fleet: the real control plane manager calls the hook for each
//! machine just before its turn.

use anyhow::Result;
use careen_tests::core_log;
use careen_tests::decisions::Decisions;
use careen_tests::events;
use careen_tests::fleet::images::{FIRST, LATEST, PATCHED};
use careen_tests::machines::{self, Machine, identities, until_all_serve};
use careen_tests::rollout::Rollout;
use careen_tests::world::{self, World};
use provider::names;
use provider::settings::Settings;
use serde_json::{Value, json};
use testkit::cluster_api::Manager;
use testkit::cluster_api::cluster::{Cluster, control_plane_kind};

use crate::VERSION;

/// The number of manager calls after which the rollout counts as held.
const ASKED: usize = 5;

/// A Cluster with a control plane of three Machines that serves in the first version.
struct Scene {
    cluster: Cluster,
    before: Vec<Machine>,
    rollout: Rollout,
}

impl Scene {
    async fn new(world: &World, name: &str, max_surge: u32) -> Result<Self> {
        let first = FIRST.version;
        let cluster = Cluster::with_control_plane(world.plane, name, first, max_surge).await?;
        let before = until_all_serve(&world.client, name, 3, first).await?;
        let rollout = Rollout::watch(&world.client, name).await?;
        Ok(Self {
            cluster,
            before,
            rollout,
        })
    }

    async fn upgrades(&self, world: &World, version: &str) -> Result<Vec<Machine>> {
        self.cluster.upgrade_control_plane(version).await?;
        let after = until_all_serve(&world.client, &self.cluster.name, 3, version).await?;
        println!("{}:\n{}", self.cluster.name, self.rollout.lines());
        Ok(after)
    }

    /// Sets whether a machine may be replaced.
    async fn never_replace(&self, word: Value) -> Result<()> {
        let change = json!({ "metadata": { "annotations": { names::NEVER_REPLACE: word } } });
        let kind = control_plane_kind();
        self.cluster.change(&kind, &self.cluster.name, change).await
    }

    /// The reasons in Events why the earlier Machines cannot be upgraded in place.
    async fn said(&self, world: &World) -> Result<String> {
        let mut all = Vec::new();
        for name in self.before.iter().map(Machine::name) {
            let about = (name.as_str(), "NotInPlace");
            all.extend(events::notes(&world.client, &self.cluster.name, about).await?);
        }
        Ok(all.join("\n"))
    }
}

/// From v1.35 to v1.36 the manager also removes a feature gate from the kubeadm configuration. The
/// provider must allow that change, or the manager deletes the machine.
#[test]
fn control_plane_upgrades_one_by_one_in_place_across_a_minor() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        let scene = Scene::new(world, "reigns", 0).await?;
        let decisions = Decisions::watch(&world.client, "reigns", &scene.before).await?;
        for version in [PATCHED.version, LATEST.version] {
            let after = scene.upgrades(world, version).await?;
            assert_eq!(identities(&scene.before), identities(&after));
        }
        let one_by_one = |version: &str, order: [u8; 3]| {
            order.map(|n| format!("{n} begins {version}\n{n} serves {version}"))
        };
        let golden = [
            one_by_one("v1.35.5", [1, 2, 3]),
            one_by_one("v1.36.3", [1, 2, 3]),
        ];
        assert_eq!(scene.rollout.lines(), golden.concat().join("\n"));
        assert_eq!(
            (scene.rollout.gone(), scene.rollout.most_updating()),
            (0, 1)
        );
        decisions
            .held_against("control-plane-across-a-minor")
            .await?;
        scene.cluster.remove().await
    })
}

#[test]
fn control_plane_with_surge_upgrades_two_and_replaces_one() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        let scene = Scene::new(world, "surges", 1).await?;
        let after = scene.upgrades(world, LATEST.version).await?;
        let before = identities(&scene.before);
        let kept = identities(&after)
            .into_iter()
            .filter(|one| before.contains(one));
        assert_eq!(kept.count(), 2, "{}", scene.rollout.lines());
        assert_eq!(scene.rollout.gone(), 1);
        scene.cluster.remove().await
    })
}

/// The agent still refuses such a node, so careen-provider promises nothing for it.
#[test]
fn default_control_plane_is_replaced_or_held_by_never_replace() -> Result<()> {
    world::run_alone(VERSION, |world| async move {
        world.provider.kill()?;
        world.provider.start_as(Settings::default())?;
        let ended = as_released(world).await;
        world.provider.kill()?;
        world.provider.start_again()?;
        ended
    })
}

async fn as_released(world: &World) -> Result<()> {
    let scene = Scene::new(world, "released", 0).await?;
    scene.never_replace(json!("true")).await?;
    scene.cluster.upgrade_control_plane(LATEST.version).await?;
    let held = "held, because neverReplace is set";
    let words = ["\"released/", held];
    core_log::until_said(world, Manager::ControlPlane, &words, ASKED).await?;
    let now = machines::all(&world.client, "released").await?;
    assert_eq!(identities(&scene.before), identities(&now));
    assert_eq!(
        (scene.rollout.lines().as_str(), scene.rollout.gone()),
        ("", 0)
    );
    let said = scene.said(world).await?;
    assert!(
        said.contains(held) && said.contains("(ControlPlane)"),
        "{said}"
    );

    scene.never_replace(Value::Null).await?;
    let after = until_all_serve(&world.client, "released", 3, LATEST.version).await?;
    let before = identities(&scene.before);
    let kept = identities(&after)
        .into_iter()
        .filter(|one| before.contains(one));
    assert_eq!(kept.count(), 0, "{}", scene.rollout.lines());
    let said = scene.said(world).await?;
    assert!(
        said.contains("replaced, because the change cannot be made in place"),
        "{said}"
    );
    scene.cluster.remove().await
}
