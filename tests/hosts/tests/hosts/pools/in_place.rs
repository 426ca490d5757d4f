//! A pool is upgraded in place, machine by machine. The agents are played.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Result, ensure};
use hosts_tests::{Played, Running, Scene};
use infrastructure::Policy;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt;
use kube::api::{Api, ListParams, Patch, PatchParams};
use provider::kinds::{CareenMachine, CareenMachinePool};
use provider::names;
use serde_json::json;
use tokio::sync::Mutex;
use upgrade::RawRequest;
use upgrade::target::request;

use super::{Pool, admin, core};
use crate::rivals::get;

const NEXT: &str =
    "ostree:site:os@2222222222222222222222222222222222222222222222222222222222222222";
const BROKEN: &str =
    "ostree:site:os@3333333333333333333333333333333333333333333333333333333333333333";
const NEXT_VERSION: &str = "v1.36.4";

/// The hosts of a pool, with their kubelets and agents.
struct Agents {
    hosts: Mutex<Vec<Played>>,
    /// How many looks an upgrade takes.
    at_work: Mutex<BTreeMap<String, u32>>,
    /// The most nodes that worked at once.
    most: Mutex<usize>,
}

impl Agents {
    async fn turn(&self, pool: &Pool) -> Result<()> {
        let nodes: Api<Node> = Api::all(admin(pool).clone());
        for host in self.hosts.lock().await.iter_mut() {
            let _ = host.renew().await;
            host.step().await?;
            if let Some(node) = nodes.get_opt(&host.name).await? {
                self.work(pool, host, &node).await?;
            }
        }
        core::kubelets(&pool.scene).await?;
        let mut most = self.most.lock().await;
        *most = (*most).max(self.at_work.lock().await.len());
        Ok(())
    }

    /// Works for some looks, then answers.
    async fn work(&self, pool: &Pool, host: &mut Played, node: &Node) -> Result<()> {
        let notes = node.annotations();
        let asked = request::from_annotations(|key| notes.get(key).cloned());
        let Some(asked) = asked.filter(RawRequest::is_scheduled) else {
            return Ok(());
        };
        let id = asked.id.clone().unwrap_or_default();
        let image = asked.image.clone().unwrap_or_default();
        let answered = notes.get(upgrade::names::STATUS);
        let is_answered = answered.is_some_and(|status| status.contains(&id));
        let mut at_work = self.at_work.lock().await;
        let looks = at_work.entry(host.name.clone()).or_default();
        *looks += 1;
        if is_answered && *looks == 1 {
            at_work.remove(&host.name);
            return Ok(());
        }
        if *looks < 4 {
            return self.say(pool, host, ("InProgress", "Trial"), &id).await;
        }
        at_work.remove(&host.name);
        if image == BROKEN {
            return self.say(pool, host, ("Failed", "Failed"), &id).await;
        }
        host.image = image;
        host.say().await?;
        let version = asked.kubernetes.unwrap_or_default();
        core::runs(&pool.scene, &host.name, &version).await?;
        self.say(pool, host, ("Upgraded", "Upgraded"), &id).await
    }

    async fn say(
        &self,
        pool: &Pool,
        host: &Played,
        (answer, phase): (&str, &str),
        id: &str,
    ) -> Result<()> {
        let status = json!({ "id": id, "phase": phase, "percent": 50, "tries": 1, "reached": [] });
        let notes =
            json!({ upgrade::names::ANSWER: answer, upgrade::names::STATUS: status.to_string() });
        let nodes: Api<Node> = Api::all(admin(pool).clone());
        let change = Patch::Merge(json!({ "metadata": { "annotations": notes } }));
        nodes
            .patch(&host.name, &PatchParams::default(), &change)
            .await?;
        Ok(())
    }
}

fn free_address() -> Result<SocketAddr> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?)
}

/// What was counted once this many machines have joined and were upgraded in one roll.
fn counts(machines: usize) -> Vec<String> {
    let operations = [
        ("claim", machines),
        ("image", machines),
        ("join", machines),
        ("update", machines),
        ("roll", 1),
    ];
    let count = |(what, count)| format!(r#"operation_seconds_count{{operation="{what}"}} {count}"#);
    let mut all: Vec<String> = operations.map(count).into();
    for state in ["members", "ready", "updated"] {
        all.push(format!(
            r#"pool_machines{{pool="pool-in-place/w",state="{state}"}} {machines}"#
        ));
    }
    all
}

/// Fails unless careen-provider shows each of these lines.
async fn measured(address: SocketAddr, lines: Vec<String>) -> Result<()> {
    let text = tokio::task::spawn_blocking(move || get(address, "/metrics")).await??;
    for line in lines {
        ensure!(text.contains(&line), "{line} is not in {text}");
    }
    Ok(())
}

async fn set_image(pool: &Pool, image: &str) -> Result<()> {
    let change = json!({ "spec": { "template": { "osImage": image } } });
    pool.scene.change::<CareenMachinePool>("w", change).await?;
    Ok(())
}

async fn images(pool: &Pool) -> Result<Vec<Option<String>>> {
    let image = |one: CareenMachine| one.spec.request.os_image;
    Ok(pool.members().await?.into_iter().map(image).collect())
}

#[tokio::test]
async fn pool_is_upgraded_in_place_and_one_failure_stops_it() -> Result<()> {
    const SPACE: &str = "pool-in-place";
    let scene = Scene::new(SPACE).await?;
    let mut hosts = Vec::new();
    for name in ["i-1", "i-2", "i-3"] {
        scene.host(name).await?;
        hosts.push(Played::new(scene.admin.clone(), SPACE, name));
    }
    let address = free_address()?;
    let policy = Policy::default();
    let _provider = Running::measured(&scene.admin, SPACE, policy, address).await?;
    let pool = Pool::new(scene, 3, "#cloud-config").await?;
    let agents = Agents {
        hosts: Mutex::new(hosts),
        at_work: Mutex::default(),
        most: Mutex::default(),
    };
    let settled = || async {
        agents.turn(&pool).await?;
        let ids = pool.settled(3).await?;
        let machines = pool.machines().await?;
        let running = |one: &&kube::api::DynamicObject| !one.data["status"]["nodeRef"].is_null();
        ensure!(machines.iter().filter(running).count() == 3, "no Node yet");
        Ok(ids)
    };
    let scene = &pool.scene;
    let first = scene.until("three nodes", settled).await?;

    let template = json!({ "spec": { "version": NEXT_VERSION } });
    pool.wants(json!({ "template": template })).await?;
    set_image(&pool, NEXT).await?;
    let upgraded = || async {
        let ids = settled().await?;
        ensure!(images(&pool).await? == vec![Some(NEXT.to_owned()); 3]);
        for machine in pool.machines().await? {
            let version = &machine.data["spec"]["version"];
            ensure!(version == NEXT_VERSION, "{version}");
            let notes = machine.annotations();
            let left = [names::ASK, names::POOL_VERSION, names::SKIP_REMEDIATION];
            ensure!(
                left.iter().all(|key| !notes.contains_key(*key)),
                "{notes:?}"
            );
        }
        Ok(ids)
    };
    let after = scene.until("all run the new image", upgraded).await?;
    assert_eq!(after, first, "no machine was replaced");
    let counted = || measured(address, counts(3));
    scene.until("the metrics show it", counted).await?;
    assert_eq!(*agents.most.lock().await, 1, "one at a time");

    set_image(&pool, BROKEN).await?;
    let stopped = || async {
        agents.turn(&pool).await?;
        let (reason, message) = pool.says("UpToDate").await?;
        ensure!(reason == "UpgradeFailed", "{reason}: {message}");
        Ok(message)
    };
    let message = scene.until("the pool stops", stopped).await?;
    ensure!(
        message.contains("machine w-0 failed to upgrade"),
        "{message}"
    );
    for _ in 0..10 {
        agents.turn(&pool).await?;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let asked = images(&pool).await?;
    let broken = asked.iter().filter(|one| one.as_deref() == Some(BROKEN));
    assert_eq!(broken.count(), 1, "no other machine is upgraded");
    let events: Api<Event> = scene.all();
    let told = events.list(&ListParams::default()).await?;
    let about = |one: &Event| {
        let kind = one.regarding.as_ref().and_then(|of| of.kind.as_deref());
        kind == Some("CareenMachinePool") && one.reason.as_deref() == Some("UpgradeFailed")
    };
    ensure!(told.iter().any(about), "no Event of the pool");
    let gauges = [
        r#"pool_stopped{pool="pool-in-place/w"} 1"#,
        r#"pool_machines{pool="pool-in-place/w",state="wanted"} 3"#,
    ];
    measured(address, gauges.map(str::to_owned).into()).await?;

    // A good image again: the pool goes on, also on the machine that failed.
    set_image(&pool, NEXT).await?;
    scene
        .until("all run the good image again", upgraded)
        .await?;
    Ok(())
}
