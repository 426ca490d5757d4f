//! A person removes Careen's cordon or its load balancer label, and sets one of their own. The
//! agent keeps theirs.

use anyhow::Result;
use careen_tests::machine::{NEW_IMAGE, OLD_IMAGE};
use careen_tests::node::{annotation, is_cordoned};
use careen_tests::scene::Scene;
use careen_tests::wire::State;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use serde_json::json;
use upgrade::names;
use upgrade::observe::Check;

/// The agent informs load balancers, and gives them no time.
const TOLD: &str = "retry-seconds = 1\n[load-balancer]\nexclude = true\nwait-seconds = 0\n";

/// A node on trial that Careen has cordoned, with a kubelet that does not answer yet.
async fn on_trial(word: &str) -> Result<Scene> {
    let mut scene = Scene::with_policy(word, TOLD).await?;
    with_a_label(&scene).await?;
    let not_yet = Check::Pending("not yet".to_owned());
    scene.machine.set_local(|local| local.kubelet = not_yet);
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    let tried =
        |node: &Node| is_cordoned(node) && annotation(node, names::STATUS).contains("Trial");
    scene.node.until("the trial", &tried).await?;
    Ok(scene)
}

/// Labels as a kubelet sets them on its Node.
async fn with_a_label(scene: &Scene) -> Result<()> {
    let os = json!({ "kubernetes.io/os": "linux" });
    scene.node.label(os).await
}

async fn until_upgraded(scene: &Scene) -> Result<Node> {
    scene.machine.set_local(|local| local.kubelet = Check::Pass);
    scene.node.until_answered("Upgraded").await
}

fn is_unmarked(node: &Node) -> bool {
    annotation(node, names::CORDONED_BY).is_empty()
}

#[tokio::test]
async fn a_cordon_that_a_person_sets_after_an_uncordon_stays() -> Result<()> {
    let scene = on_trial("re-cordons").await?;
    scene.node.set_unschedulable(false).await?;
    scene.node.until("the mark taken off", &is_unmarked).await?;
    scene.node.set_unschedulable(true).await?;
    let node = until_upgraded(&scene).await?;
    assert!(is_cordoned(&node), "a person withdrew the node");
    Ok(())
}

/// The agent sees only the final state: a cordon with its own mark.
async fn re_cordoned_unseen(scene: &Scene) -> Result<()> {
    scene.node.set_unschedulable(false).await?;
    scene.node.set_unschedulable(true).await
}

#[tokio::test]
async fn a_cordon_that_a_person_sets_while_the_server_is_away_stays() -> Result<()> {
    let scene = on_trial("re-cordons-away").await?;
    scene.node.wire.set(State::Cut);
    re_cordoned_unseen(&scene).await?;
    scene.node.wire.set(State::Open);
    scene.node.until("the mark taken off", &is_unmarked).await?;
    assert!(is_cordoned(&until_upgraded(&scene).await?));
    Ok(())
}

#[tokio::test]
async fn a_cordon_that_a_person_sets_without_an_agent_stays() -> Result<()> {
    let mut scene = on_trial("re-cordons-dead").await?;
    scene.kill_agent()?;
    re_cordoned_unseen(&scene).await?;
    scene.start_agent()?;
    assert!(is_cordoned(&until_upgraded(&scene).await?));
    Ok(())
}

#[tokio::test]
async fn a_label_that_a_person_sets_over_our_mark_stays() -> Result<()> {
    let scene = on_trial("re-labels").await?;
    let label = |value: Option<&str>| json!({ names::EXCLUDED: value });
    scene.node.label(label(None)).await?;
    // The agent sets it again once: a program may have removed it.
    let again = |node: &Node| node.labels().contains_key(names::EXCLUDED);
    scene.node.until("the label set again", &again).await?;
    scene.node.label(label(None)).await?;
    let unmarked = |node: &Node| annotation(node, names::EXCLUDED_BY).is_empty();
    scene.node.until("the mark taken off", &unmarked).await?;
    scene.node.label(label(Some("by-hand"))).await?;
    let node = until_upgraded(&scene).await?;
    let left = node.labels().get(names::EXCLUDED).map(String::as_str);
    assert_eq!(left, Some("by-hand"));
    Ok(())
}

#[tokio::test]
async fn a_label_that_a_person_sets_without_an_agent_stays() -> Result<()> {
    let mut scene = on_trial("re-labels-dead").await?;
    scene.kill_agent()?;
    scene.node.label(json!({ names::EXCLUDED: null })).await?;
    scene.node.label(json!({ names::EXCLUDED: "true" })).await?;
    scene.start_agent()?;
    let node = until_upgraded(&scene).await?;
    assert!(node.labels().contains_key(names::EXCLUDED));
    assert_eq!(annotation(&node, names::EXCLUDED_BY), "");
    Ok(())
}

/// An agent of an earlier release sends no field manager name to the server.
#[tokio::test]
async fn our_cordon_is_taken_off_though_a_former_agent_set_it() -> Result<()> {
    let mut scene = on_trial("nameless").await?;
    scene.kill_agent()?;
    let node = scene.node.now().await?;
    let mark = annotation(&node, names::CORDONED_BY).to_owned();
    let marked = |mark: Option<&str>| json!({ "annotations": { names::CORDONED_BY: mark } });
    let off = json!({ "metadata": marked(None), "spec": { "unschedulable": false } });
    scene.node.change(off).await?;
    let on = json!({ "metadata": marked(Some(&mark)), "spec": { "unschedulable": true } });
    scene.node.change(on).await?;
    scene.start_agent()?;
    assert!(!is_cordoned(&until_upgraded(&scene).await?));
    Ok(())
}

#[tokio::test]
async fn an_idle_agent_takes_a_mark_off_that_a_former_upgrade_left() -> Result<()> {
    let scene = Scene::new("idle-mark").await?;
    with_a_label(&scene).await?;
    scene.node.ask_for(OLD_IMAGE).await?;
    scene.node.until_answered("Upgraded").await?;
    let left = json!({ names::CORDONED_BY: "r7-of-a-former-one", names::EXCLUDED_BY: "r7-of-a-former-one" });
    scene.node.annotate(left).await?;
    let gone = |node: &Node| is_unmarked(node) && annotation(node, names::EXCLUDED_BY).is_empty();
    scene.node.until("both marks taken off", &gone).await?;
    Ok(())
}
