//! A person's request and the work of the node's own agent: each verb with both of its ends real.

use anyhow::{Result, ensure};
use careen_tests::machine::{Fault, NEW_IMAGE};
use careen_tests::node::{OLD_VERSION, annotation, condition, is_cordoned};
use careen_tests::pods::Namespace;
use careen_tests::scene::Scene;
use k8s_openapi::api::core::v1::Node;
use kubectl::exit::Exit;
use serde_json::{Value, json};
use upgrade::names;
use upgrade::observe::Check;

use crate::person::{Ran, careen, own_nodes, value};

/// Runs a command and watches to its end, over this many reboots.
async fn watched(scene: &mut Scene, line: &str, reboots: usize) -> Result<Ran> {
    let line = format!("{line} --yes --watch");
    let over = async {
        for _ in 0..reboots {
            scene.reboot().await?;
        }
        anyhow::Ok(())
    };
    let (ran, rebooted) = tokio::join!(careen(&line), over);
    rebooted?;
    ran
}

#[tokio::test]
async fn plan_prints_the_agents_answer_and_leaves_the_node_unchanged() -> Result<()> {
    let _own = own_nodes().await;
    let scene = Scene::new("foretold").await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    pods.run("job", json!({})).await?;
    pods.budget("always-one", "web", 1).await?;
    let line = format!("plan {} --image {NEW_IMAGE}", scene.node.name);
    let ran = careen(&line).await?.with(Exit::Done)?;
    let space = &pods.name;
    for told in [
        &format!("{OLD_VERSION} -> "),
        "containerd",
        "/etc/motd",
        &format!("{space}/job"),
        &format!("{space}/web: held by PodDisruptionBudget {space}/always-one"),
    ] {
        ensure!(ran.out.contains(told), "{told}: {ran:?}");
    }
    let node = scene.node.now().await?;
    assert_eq!(value(&node, names::PLAN), None);
    assert_eq!(value(&node, names::ANSWER), None);
    assert!(!is_cordoned(&node));
    assert!(scene.machine.begun().is_empty());
    Ok(())
}

/// The machine's clock shows Tuesday, 22:13 UTC.
#[tokio::test]
async fn plan_shows_the_time_left_in_the_hours_or_when_they_open() -> Result<()> {
    let _own = own_nodes().await;
    for (hours, told) in [
        ("22:00-23:00", "s left"),
        ("02:00-04:00", "it would wait until Wed 02:00 UTC"),
    ] {
        let policy = format!("[window]\nopen = [\"daily {hours}\"]\n");
        let scene = Scene::with_policy("timed", &policy).await?;
        let line = format!("plan {} --image {NEW_IMAGE}", scene.node.name);
        let ran = careen(&line).await?.with(Exit::Done)?;
        ensure!(ran.out.contains(told), "{hours}: {ran:?}");
    }
    Ok(())
}

#[tokio::test]
async fn what_a_person_has_paused_waits_until_they_resume_it() -> Result<()> {
    let _own = own_nodes().await;
    let mut scene = Scene::new("asleep").await?;
    let name = scene.node.name.clone();
    careen(&format!("pause {name} --reason audit"))
        .await?
        .with(Exit::Done)?;
    careen(&format!("upgrade {name} --image {NEW_IMAGE} --yes"))
        .await?
        .with(Exit::Done)?;
    let told = |node: &Node| condition(node).is_some_and(|(_, reason, _)| reason == "Paused");
    scene.node.until("the pause is told", &told).await?;
    assert!(scene.machine.begun().is_empty());
    let ran = careen(&format!("explain {name}")).await?.with(Exit::Done)?;
    ensure!(ran.out.contains("paused: audit"), "{ran:?}");
    let status = format!("status {name} -o wide");
    let ran = careen(&status).await?.with(Exit::Done)?;
    ensure!(ran.out.contains("Paused"), "{ran:?}");
    careen(&format!("resume {name} --reason audit"))
        .await?
        .with(Exit::Done)?;
    scene.reboot().await?;
    scene.node.until_answered("Upgraded").await?;
    Ok(())
}

#[tokio::test]
async fn a_cancelled_request_is_given_up_and_the_node_is_as_it_was() -> Result<()> {
    let _own = own_nodes().await;
    let scene = Scene::new("called-off").await?;
    scene.machine.fault("Snapshot", Some(Fault::Hangs));
    let name = &scene.node.name;
    careen(&format!("upgrade {name} --image {NEW_IMAGE} --yes"))
        .await?
        .with(Exit::Done)?;
    scene.machine.until_begun("Snapshot", 0).await;
    careen(&format!("cancel {name}")).await?.with(Exit::Done)?;
    let node = scene.node.until_answered("Failed").await?;
    assert!(annotation(&node, names::FAILURE_REASON).starts_with("withdrawn"));
    let free = |node: &Node| !is_cordoned(node);
    scene.node.until("no cordon", &free).await?;
    assert_eq!((scene.machine.boots(), scene.machine.times("Arm")), (0, 0));
    Ok(())
}

fn ends(history: &Value) -> Vec<&str> {
    let past = history.as_array().into_iter().flatten();
    past.filter_map(|one| one["answer"].as_str()).collect()
}

/// One node's life: it falls back, a person fixes it, a second request succeeds, and a rollback
/// follows.
#[tokio::test]
async fn history_shows_a_fallback_a_retry_and_a_rollback() -> Result<()> {
    let _own = own_nodes().await;
    let mut scene = Scene::new("told-again").await?;
    let name = scene.node.name.clone();
    let broken = ("disk".to_owned(), Check::Broken("no /dev/sdb".to_owned()));
    scene
        .machine
        .set_local(|local| local.required = vec![broken]);
    let upgrade = format!("upgrade {name} --image {NEW_IMAGE}");
    watched(&mut scene, &upgrade, 2).await?.with(Exit::Failed)?;
    scene.machine.set_local(|local| local.required = Vec::new());
    let retry = format!("retry {name}");
    watched(&mut scene, &retry, 1).await?.with(Exit::Done)?;
    assert!(scene.machine.runs_new());
    let rollback = format!("rollback {name}");
    watched(&mut scene, &rollback, 1).await?.with(Exit::Done)?;
    assert!(!scene.machine.runs_new());
    let history = format!("history {name}");
    let data = careen(&format!("{history} -o json"))
        .await?
        .with(Exit::Done)?
        .data()?;
    assert_eq!(ends(&data), ["Upgraded", "Upgraded", "Failed"], "{data}");
    let ran = careen(&format!("{history} -o wide"))
        .await?
        .with(Exit::Done)?;
    ensure!(ran.err.is_empty(), "{ran:?}");
    for told in ["UserCheck", NEW_IMAGE, names::KEPT_IMAGE] {
        ensure!(ran.out.contains(told), "{told}: {ran:?}");
    }
    Ok(())
}
