//! Draining against real disruption budgets, with nothing but the kubelet's credential.

use anyhow::Result;
use careen_tests::machine::NEW_IMAGE;
use careen_tests::node::{annotation, is_cordoned};
use careen_tests::pods::Namespace;
use careen_tests::scene::Scene;
use serde_json::json;
use upgrade::names;

/// A policy whose drain gives up after two seconds.
const HASTY: &str = "retry-seconds = 1\n[drain]\ndeadline-seconds = 2\n";

#[tokio::test]
async fn pods_are_evicted_and_what_belongs_to_the_node_stays() -> Result<()> {
    let mut scene = Scene::new("drains").await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    pods.run("job", json!({})).await?;
    pods.finish("job").await?;
    pods.run("log", Namespace::owned_by_a_daemonset()).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot_silently().await?;
    assert_eq!(pods.names().await?, ["job", "log"]);
    let node = scene.node.now().await?;
    assert!(is_cordoned(&node));
    assert_eq!(annotation(&node, names::CORDONED_BY), "r1-aaaaaaaaaaaa");
    Ok(())
}

#[tokio::test]
async fn a_budget_that_never_allows_ends_the_upgrade_and_is_named() -> Result<()> {
    let scene = Scene::with_policy("budget", HASTY).await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    pods.budget("always-one", "web", 1).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    let warned = |node: &_| annotation(node, names::STATUS).contains("\"code\":\"BudgetBlocks\"");
    scene
        .node
        .until("a warning before the cordon", &warned)
        .await?;
    let node = scene.node.until_answered("Failed").await?;
    let said = annotation(&node, names::FAILURE_REASON);
    let (budget, pod) = (
        format!("{}/always-one", pods.name),
        format!("{}/web", pods.name),
    );
    assert!(said.contains(&budget) && said.contains(&pod), "{said}");
    assert!(!is_cordoned(&node), "uncordoned");
    assert_eq!(pods.names().await?, ["web"]);
    assert_eq!(
        (scene.machine.boots(), scene.machine.menu().as_str()),
        (0, "a")
    );
    Ok(())
}

#[tokio::test]
async fn a_budget_that_allows_later_is_waited_for() -> Result<()> {
    let mut scene = Scene::new("patient").await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    pods.budget("one", "web", 1).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.node.until("cordoned", &is_cordoned).await?;
    pods.drop_budget("one").await?;
    scene.reboot_silently().await?;
    assert!(pods.names().await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn an_agent_that_dies_while_draining_gives_the_drain_no_more_time() -> Result<()> {
    let hour = "retry-seconds = 1\n[drain]\ndeadline-seconds = 3600\n";
    let mut scene = Scene::with_policy("resumed", hour).await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    pods.budget("always-one", "web", 1).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.node.until("cordoned", &is_cordoned).await?;
    scene.kill_agent()?;
    scene.machine.pass_seconds(3600);
    scene.start_agent()?;
    let node = scene.node.until_answered("Failed").await?;
    let said = annotation(&node, names::FAILURE_REASON);
    assert!(
        said.contains("always-one") && said.contains("waited 360"),
        "{said}"
    );
    assert!(!is_cordoned(&node));
    Ok(())
}

#[tokio::test]
async fn a_policy_of_force_goes_past_the_budget() -> Result<()> {
    let mut scene =
        Scene::with_policy("force", &format!("{HASTY}at-deadline = \"force\"\n")).await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    pods.budget("always-one", "web", 1).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot_silently().await?;
    assert!(pods.names().await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_policy_of_continue_reboots_with_the_pods_there() -> Result<()> {
    let mut scene =
        Scene::with_policy("continue", &format!("{HASTY}at-deadline = \"continue\"\n")).await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    pods.budget("always-one", "web", 1).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot_silently().await?;
    assert_eq!(pods.names().await?, ["web"]);
    Ok(())
}

#[tokio::test]
async fn a_foreign_cordon_stays() -> Result<()> {
    let mut scene = Scene::new("foreign").await?;
    scene.node.set_unschedulable(true).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    let node = scene.node.until_answered("Upgraded").await?;
    assert!(is_cordoned(&node));
    assert_eq!(annotation(&node, names::CORDONED_BY), "");
    Ok(())
}

#[tokio::test]
async fn a_withdrawal_while_draining_uncordons_and_leaves_the_pods() -> Result<()> {
    let scene = Scene::new("withdrawn").await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    pods.budget("always-one", "web", 1).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.node.until("cordoned", &is_cordoned).await?;
    scene.node.annotate(json!({ names::REQUEST: null })).await?;
    let node = scene.node.until_answered("Failed").await?;
    assert!(annotation(&node, names::FAILURE_REASON).starts_with("withdrawn"));
    assert!(!is_cordoned(&node));
    assert_eq!(pods.names().await?, ["web"]);
    Ok(())
}
