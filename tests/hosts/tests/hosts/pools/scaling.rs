//! A pool grows, shrinks and goes.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use hosts_tests::{IMAGE, Played, Running, Scene, plane};
use infrastructure::{Phase, Policy};
use kube::ResourceExt;
use kube::api::{Api, ListParams, Patch, PatchParams};
use provider::kinds::{CareenHost, CareenMachine, CareenMachinePool};
use serde_json::json;

use super::{Pool, core};
use crate::hosted::rig::WORKER;
use crate::hosted::{self, Program};

/// The phases of all hosts.
async fn phases(scene: &Scene) -> Result<Vec<Phase>> {
    let hosts: Api<CareenHost> = scene.all();
    let all = hosts.list(&ListParams::default()).await?;
    let phase = |host: CareenHost| host.status.unwrap_or_default().phase;
    Ok(all.into_iter().map(phase).collect())
}

async fn until_available(scene: &Scene, wanted: usize) -> Result<()> {
    let ask = || async {
        let all = phases(scene).await?;
        let free = all.iter().filter(|one| **one == Phase::Available);
        ensure!(free.count() == wanted, "{all:?}");
        Ok(())
    };
    scene.until("hosts are free", ask).await
}

#[tokio::test]
async fn pool_on_hosts_in_folders_shrinks_and_goes_clean() -> Result<()> {
    const SPACE: &str = "pool-folders";
    let scene = Scene::new(SPACE).await?;
    let _provider = Running::start(&scene.admin, SPACE, Policy::default()).await?;
    scene
        .apply(&json!({
            "apiVersion": "careen.dev/v1alpha1", "kind": "HostRegistration", "metadata": { "name": "rack-a" },
            "spec": { "autoApprove": true },
        }))
        .await?;
    let mut programs = Vec::new();
    for name in ["f-1", "f-2"] {
        let kubeconfig = plane().await?.admin_kubeconfig();
        let ask = || hosted::kubectl(&kubeconfig, SPACE, "token --registration rack-a");
        let text = scene.until("the registration has an account", ask).await?;
        programs.push(Program::start(hosted::settings(&text, name)?));
    }
    until_available(&scene, 2).await?;
    let pool = Pool::new(scene, 2, WORKER).await?;
    let scene = &pool.scene;
    let first = scene.until("two nodes", || pool.settled(2)).await?;
    let (_, status) = pool.status().await?;
    let kind = status.infrastructure_machine_kind.as_deref();
    assert_eq!(kind, Some("CareenMachine"), "core makes a Machine for each");

    pool.wants(json!({ "replicas": 1 })).await?;
    let rest = scene.until("one node", || pool.settled(1)).await?;
    ensure!(first.contains(&rest[0]), "{first:?} {rest:?}");
    until_available(scene, 1).await?;

    pool.delete().await?;
    until_available(scene, 2).await?;
    let gone = || async {
        ensure!(pool.members().await?.is_empty() && pool.machines().await?.is_empty());
        let pools: Api<CareenMachinePool> = scene.all();
        ensure!(pools.get_opt("w").await?.is_none(), "the pool is there");
        Ok(())
    };
    scene.until("the pool is gone", gone).await?;
    for program in programs {
        assert_eq!(program.end(), "[1]", "each claim's data ran once");
    }
    Ok(())
}

#[tokio::test]
async fn pool_takes_the_marked_machine_and_frees_its_id_last() -> Result<()> {
    let scene = Scene::new("pool-marked").await?;
    let mut hosts = Vec::new();
    for name in ["g-1", "g-2", "g-3"] {
        scene.host(name).await?;
        hosts.push(Played::new(scene.admin.clone(), &scene.space, name));
    }
    let _provider = Running::start(&scene.admin, "pool-marked", Policy::default()).await?;
    let pool = Pool::new(scene, 3, "#cloud-config").await?;
    let scene = &pool.scene;
    let hosts = tokio::sync::Mutex::new(hosts);
    let act = || async {
        for host in hosts.lock().await.iter_mut() {
            // Its Lease may not be there yet.
            let _ = host.renew().await;
            host.step().await?;
        }
        anyhow::Ok(())
    };
    let ask = || async {
        act().await?;
        pool.settled(3).await
    };
    let first = scene.until("three nodes", ask).await?;

    let marked = Patch::Merge(json!({ "metadata": { "annotations": {
        "cluster.x-k8s.io/delete-machine": "yes",
    } } }));
    let machines = core::machines(scene)?;
    machines
        .patch("w-1", &PatchParams::default(), &marked)
        .await?;
    pool.wants(json!({ "replicas": 2 })).await?;
    let goes = || async {
        let ours: Api<CareenMachine> = scene.all();
        let member = ours.get("w-1").await?;
        ensure!(member.metadata.deletion_timestamp.is_some(), "it is there");
        Ok(member.spec.provider_id.unwrap_or_default())
    };
    let id = scene.until("the marked machine goes", goes).await?;
    for _ in 0..5 {
        let (ids, _) = pool.status().await?;
        assert_eq!(ids, first, "its host is not fenced, so core keeps its Node");
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let ask = || async {
        act().await?;
        pool.settled(2).await
    };
    let rest = scene.until("two nodes", ask).await?;
    ensure!(!rest.contains(&id), "{rest:?}");
    let names: Vec<_> = pool
        .members()
        .await?
        .iter()
        .map(|one| one.name_any())
        .collect();
    assert_eq!(names, ["w-0", "w-2"]);
    let images: Vec<_> = pool.members().await?;
    let image = |one: &CareenMachine| one.spec.request.os_image.clone();
    ensure!(
        images
            .iter()
            .all(|one| image(one).as_deref() == Some(IMAGE))
    );

    // Somebody deletes the CareenMachine alone. Its Machine goes too, and another member comes.
    scene.delete_machine("w-0").await?;
    let ask = || async {
        act().await?;
        let ids = pool.settled(2).await?;
        ensure!(
            !ids.contains(&rest[0]) || !ids.contains(&rest[1]),
            "{ids:?}"
        );
        Ok(ids)
    };
    scene.until("two nodes again", ask).await?;
    Ok(())
}

#[tokio::test]
async fn two_leaders_make_each_machine_of_a_pool_once() -> Result<()> {
    const SPACE: &str = "pool-leaders";
    let scene = Scene::new(SPACE).await?;
    let _one = Running::start(&scene.admin, SPACE, Policy::default()).await?;
    let _other = Running::start(&scene.admin, SPACE, Policy::default()).await?;
    let pool = Pool::new(scene, 12, "#cloud-config").await?;
    let wanted: BTreeSet<String> = (0..12).map(|number| format!("w-{number}")).collect();
    let names = || async {
        let members = pool.members().await?;
        let names: BTreeSet<_> = members.iter().map(ResourceExt::name_any).collect();
        anyhow::Ok(names)
    };
    let made = || async {
        let names = names().await?;
        ensure!(names == wanted, "{names:?}");
        Ok(())
    };
    pool.scene.until("the members are there", made).await?;
    for _ in 0..10 {
        made().await?;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let (reason, message) = pool.says("Ready").await?;
    ensure!(
        reason == "Joining" && message.contains("NoHost"),
        "{reason}: {message}"
    );
    Ok(())
}
