//! What an agent answers apart from an upgrade: the pause, the history, a plan, and the rollback to
//! a kept system.

use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, ensure};
use careen_tests::machine::{Fault, NEW_IMAGE, OLD_IMAGE, PLAN};
use careen_tests::node::{OLD_VERSION, annotation, condition, is_cordoned};
use careen_tests::pods::Namespace;
use careen_tests::scene::Scene;
use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};
use upgrade::history::Past;
use upgrade::plan::Plan;
use upgrade::report::{Answer, Status};
use upgrade::{Reason, names};

const WHY: &str = "an audit";

async fn pause(scene: &Scene, why: Option<&str>) -> Result<()> {
    scene.node.annotate(json!({ names::PAUSED: why })).await
}

fn says_paused(node: &Node) -> bool {
    condition(node).is_some_and(|(_, reason, message)| {
        reason == "Paused" && message.contains(&format!("paused: {WHY}"))
    })
}

#[tokio::test]
async fn a_request_that_waits_for_a_pause_is_told_so_and_not_answered() -> Result<()> {
    let scene = Scene::new("waits").await?;
    pause(&scene, Some(WHY)).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    let node = scene.node.until("the pause is told", &says_paused).await?;
    let status = condition(&node).map(|(status, ..)| status);
    assert_eq!(status.as_deref(), Some("False"));
    assert_eq!(annotation(&node, names::ANSWER), "");
    let status: Status = serde_json::from_str(annotation(&node, names::STATUS))?;
    assert_eq!(status.paused.as_deref(), Some(WHY));
    assert!(scene.machine.begun().is_empty());
    pause(&scene, None).await?;
    scene.machine.until_begun("Fetch", 0).await;
    let gone = |node: &Node| {
        !annotation(node, names::STATUS).contains(WHY)
            && annotation(node, names::ANSWER) == "InProgress"
    };
    scene.node.until("no word of the pause", &gone).await?;
    Ok(())
}

#[tokio::test]
async fn pause_holds_an_upgrade_before_arming_across_an_agent_restart() -> Result<()> {
    let mut scene = Scene::new("held").await?;
    scene.machine.fault("Snapshot", Some(Fault::Hangs));
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.machine.until_begun("Snapshot", 0).await;
    pause(&scene, Some(WHY)).await?;
    let held = |node: &Node| says_paused(node) && annotation(node, names::ANSWER) == "InProgress";
    scene.node.until("the pause is told", &held).await?;
    scene.kill_agent()?;
    scene.machine.fault("Snapshot", None);
    scene.start_agent()?;
    // An agent that answers this has seen the Node.
    assert_eq!(plan(&scene, NEW_IMAGE).await?.code.as_deref(), Some("Busy"));
    assert_eq!(scene.machine.times("Arm"), 0);
    assert!(is_cordoned(&scene.node.now().await?));
    pause(&scene, None).await?;
    scene.reboot().await?;
    scene.node.until_answered("Upgraded").await?;
    Ok(())
}

#[tokio::test]
async fn what_is_paused_can_be_taken_back() -> Result<()> {
    let scene = Scene::new("paused-cancel").await?;
    scene.machine.fault("Deploy", Some(Fault::Hangs));
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.machine.until_begun("Deploy", 0).await;
    pause(&scene, Some(WHY)).await?;
    scene.node.until("the pause is told", &says_paused).await?;
    scene.node.annotate(json!({ names::REQUEST: null })).await?;
    let mut scene = scene;
    scene.kill_agent()?;
    scene.machine.fault("Deploy", None);
    scene.start_agent()?;
    let node = scene.node.until_answered("Failed").await?;
    ensure!(annotation(&node, names::FAILURE_REASON).starts_with("withdrawn"));
    Ok(())
}

fn history(node: &Node) -> Result<Vec<Past>> {
    Ok(serde_json::from_str(annotation(node, names::HISTORY))?)
}

#[tokio::test]
async fn the_history_tells_of_good_and_bad_ends_the_latest_first() -> Result<()> {
    let mut scene = Scene::new("history").await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    let node = scene.node.until_answered("Upgraded").await?;
    let [past] = &history(&node)?[..] else {
        anyhow::bail!("{:?}", history(&node)?)
    };
    assert_eq!((past.answer, past.tries), (Answer::Upgraded, 1));
    assert_eq!(past.image, NEW_IMAGE);
    assert_eq!(past.from, OLD_VERSION.parse().ok());
    scene.node.ask_for("docker://x").await?;
    let node = scene.node.until_answered("Failed").await?;
    let codes: Vec<_> = history(&node)?.into_iter().map(|past| past.code).collect();
    assert_eq!(codes, [Some("BadRequest".to_owned()), None]);
    Ok(())
}

/// Requests a plan, and waits for the answer to this request.
async fn plan(scene: &Scene, image: &str) -> Result<Plan> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::SeqCst);
    let question = format!("{image} q{number}");
    scene
        .node
        .annotate(json!({ names::PLAN: question }))
        .await?;
    answer_to(scene, &question).await
}

async fn answer_to(scene: &Scene, question: &str) -> Result<Plan> {
    let parsed = |node: &Node| -> Option<Plan> {
        serde_json::from_str(annotation(node, names::PLAN_RESULT)).ok()
    };
    let answered = |node: &Node| parsed(node).is_some_and(|plan| plan.asked == question);
    let node = scene.node.until("an answer", &answered).await?;
    parsed(&node).context("just seen")
}

#[tokio::test]
async fn plan_reports_changes_and_obstacles_and_touches_nothing() -> Result<()> {
    let scene = Scene::new("plans").await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    pods.run("job", json!({})).await?;
    pods.budget("always-one", "web", 1).await?;
    let plan = plan(&scene, NEW_IMAGE).await?;
    assert_eq!((&plan.code, &plan.reason), (&None, &None));
    let kubelet = plan.kubelet.context("the kubelet")?;
    assert_eq!(kubelet.from.as_deref(), Some(OLD_VERSION));
    assert_eq!(plan.packages[0].name, "containerd");
    assert_eq!(plan.etc_conflicts, ["/etc/motd"]);
    let named = |name: &str| format!("{}/{name}", pods.name);
    assert_eq!(plan.moving, [named("job"), named("web")]);
    let [blocked] = &plan.blocked[..] else {
        anyhow::bail!("{:?}", plan.blocked)
    };
    assert_eq!(blocked.pod, named("web"));
    let budget = format!("PodDisruptionBudget {}", named("always-one"));
    assert_eq!(blocked.by, budget);
    assert_eq!(pods.names().await?, ["job", "web"]);
    let node = scene.node.now().await?;
    assert!(!is_cordoned(&node));
    assert_eq!(annotation(&node, names::ANSWER), "");
    assert!(scene.machine.begun().is_empty());
    Ok(())
}

#[tokio::test]
async fn plan_lists_no_moving_pods_when_the_drain_is_skipped() -> Result<()> {
    let policy = "retry-seconds = 1\n[drain]\nskip = true\n";
    let scene = Scene::with_policy("plan-skip", policy).await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    let plan = plan(&scene, NEW_IMAGE).await?;
    assert!(plan.code.is_none() && plan.moving.is_empty(), "{plan:?}");
    Ok(())
}

#[tokio::test]
async fn the_answer_goes_with_the_question_and_is_not_given_twice() -> Result<()> {
    let mut scene = Scene::new("plan-goes").await?;
    plan(&scene, NEW_IMAGE).await?;
    scene.kill_agent()?;
    scene.start_agent()?;
    // Another request, and then none: before the answer to this request, the agent would inspect
    // the first image again.
    plan(&scene, NEW_IMAGE).await?;
    assert_eq!(scene.machine.looked(), 2);
    scene.node.annotate(json!({ names::PLAN: null })).await?;
    let gone = |node: &Node| annotation(node, names::PLAN_RESULT).is_empty();
    scene
        .node
        .until("no answer without a question", &gone)
        .await?;
    Ok(())
}

#[tokio::test]
async fn a_plan_names_what_a_request_would_be_refused_for() -> Result<()> {
    let scene = Scene::new("plan-refused").await?;
    let unfit = Reason::LoaderUnfit {
        detail: "LVM".to_owned(),
    };
    scene.machine.set_loader(Err(unfit));
    assert_eq!(
        plan(&scene, NEW_IMAGE).await?.code.as_deref(),
        Some("LoaderUnfit")
    );
    assert_eq!(
        plan(&scene, "docker://x").await?.code.as_deref(),
        Some("BadRequest")
    );
    assert_eq!(
        plan(&scene, "kept:").await?.code.as_deref(),
        Some("NothingKept")
    );
    assert_eq!(scene.machine.looked(), 0);
    scene.machine.set_loader(Ok(()));
    let away = Reason::RemoteAway {
        remote: "site".to_owned(),
        detail: "refused".to_owned(),
    };
    scene.machine.fault(PLAN, Some(Fault::Fails(away)));
    assert_eq!(
        plan(&scene, NEW_IMAGE).await?.code.as_deref(),
        Some("RemoteAway")
    );
    Ok(())
}

#[tokio::test]
async fn an_upgrade_does_not_wait_for_a_plan() -> Result<()> {
    let scene = Scene::new("plan-yields").await?;
    scene.machine.fault(PLAN, Some(Fault::Hangs));
    let question = format!("{NEW_IMAGE} slow");
    scene
        .node
        .annotate(json!({ names::PLAN: question }))
        .await?;
    scene.machine.until_looking(0).await;
    scene.machine.fault("Fetch", Some(Fault::Hangs));
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.machine.until_begun("Fetch", 0).await;
    assert_eq!(
        answer_to(&scene, &question).await?.code.as_deref(),
        Some("Busy")
    );
    assert_eq!(plan(&scene, NEW_IMAGE).await?.code.as_deref(), Some("Busy"));
    assert_eq!(scene.machine.looked(), 1);
    Ok(())
}

#[tokio::test]
async fn another_question_ends_the_look_for_the_first() -> Result<()> {
    let scene = Scene::new("plan-again").await?;
    scene.machine.fault(PLAN, Some(Fault::Hangs));
    scene
        .node
        .annotate(json!({ names::PLAN: NEW_IMAGE }))
        .await?;
    scene.machine.until_looking(0).await;
    scene.machine.fault(PLAN, None);
    assert_eq!(plan(&scene, NEW_IMAGE).await?.code, None);
    Ok(())
}

#[tokio::test]
async fn rollback_to_the_kept_system_is_an_upgrade_of_its_own() -> Result<()> {
    let mut scene = Scene::new("goes-back").await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    scene.node.until_answered("Upgraded").await?;
    let before = scene.machine.begun().len();
    let request: Value = json!({ names::IMAGE: "kept:", names::UPGRADE_ID: "back" });
    scene.node.annotate(request).await?;
    scene.reboot().await?;
    let back = |node: &Node| {
        annotation(node, names::STATUS).contains("\"id\":\"back\"")
            && annotation(node, names::ANSWER) == "Upgraded"
    };
    let node = scene.node.until("back", &back).await?;
    assert!(!scene.machine.runs_new());
    assert_eq!(scene.machine.menu(), "ab", "and what was left is kept now");
    assert!(!is_cordoned(&node));
    let steps = [
        "Verify", "Deploy", "Snapshot", "Arm", "Reboot", "Bless", "Clean",
    ];
    assert_eq!(scene.machine.begun()[before..], steps);
    assert_eq!(history(&node)?[0].image, "kept:");
    Ok(())
}

#[tokio::test]
async fn a_node_that_has_kept_nothing_says_so() -> Result<()> {
    let scene = Scene::new("keeps-none").await?;
    scene.node.ask_for("kept:").await?;
    let node = scene.node.until_answered("Failed").await?;
    assert_eq!(
        condition(&node).map(|(_, reason, _)| reason).as_deref(),
        Some("NothingKept")
    );
    scene.node.ask_for(OLD_IMAGE).await?;
    scene.node.until_answered("Upgraded").await?;
    Ok(())
}
