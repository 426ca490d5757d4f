//! An operator's settings for a node, as they show on the Node.

use anyhow::Result;
use careen_tests::machine::{CHECKS, Fault, NEW_IMAGE, OLD_IMAGE};
use careen_tests::node::{annotation, is_cordoned};
use careen_tests::pods::Namespace;
use careen_tests::scene::Scene;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use serde_json::json;
use upgrade::{Reason, names};

fn says(node: &Node, what: &str) -> bool {
    annotation(node, names::STATUS).contains(what)
}

fn is_excluded(node: &Node) -> bool {
    node.labels().contains_key(names::EXCLUDED)
}

/// The test machine's boots begin on a Tuesday at 22:13:20 UTC.
const NIGHT: &str = "retry-seconds = 1\n[window]\nopen = [\"daily 02:00-04:00\"]\n";

#[tokio::test]
async fn upgrade_outside_the_hours_waits_and_reports_when_they_open() -> Result<()> {
    let mut scene = Scene::with_policy("hours", NIGHT).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    let waits = |node: &Node| {
        annotation(node, names::ANSWER) == "InProgress"
            && says(node, "it opens Wed 02:00 UTC")
            && says(node, "\"code\":\"WindowClosed\"")
    };
    scene.node.until("its hours", &waits).await?;
    assert_eq!(scene.machine.begun(), Vec::<&str>::new());
    scene.kill_agent()?;
    scene.machine.pass_seconds(4 * 3600);
    scene.start_agent()?;
    scene.reboot().await?;
    scene.node.until_answered("Upgraded").await?;
    Ok(())
}

#[tokio::test]
async fn a_drain_that_the_end_of_the_hours_finds_gives_the_node_back() -> Result<()> {
    let evening = "retry-seconds = 1\n[window]\nopen = [\"daily 22:00-23:00\"]\n";
    let mut scene = Scene::with_policy("evening", evening).await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    pods.budget("always-one", "web", 1).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.node.until("cordoned", &is_cordoned).await?;
    scene.kill_agent()?;
    scene.machine.pass_seconds(3600);
    scene.start_agent()?;
    let back = |node: &Node| {
        !is_cordoned(node) && says(node, "WindowClosed") && says(node, "\"phase\":\"Deployed\"")
    };
    scene.node.until("the node is given back", &back).await?;
    assert_eq!(pods.names().await?, ["web"]);
    Ok(())
}

#[tokio::test]
async fn failing_hook_fails_the_upgrade_before_the_drain() -> Result<()> {
    let scene = Scene::with_policy("hook", "retry-seconds = 1\ntries = 2\n").await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    let battery = "echo 'battery at 20 %, wanted are 50'; exit 1";
    scene.machine.add_hook("pre.d/10-power", battery)?;
    scene.node.ask_for(NEW_IMAGE).await?;
    let node = scene.node.until_answered("Failed").await?;
    let said = annotation(&node, names::FAILURE_REASON);
    let wanted = "hook 10-power failed: battery at 20 %, wanted are 50 (exit status 1). Fix the hook or what it reports, and ask again if the upgrade fails.";
    assert_eq!(said, wanted);
    assert_eq!(scene.machine.times("PreHooks"), 2, "tried again");
    assert!(!is_cordoned(&node));
    assert_eq!(pods.names().await?, ["web"]);
    assert_eq!(scene.machine.boots(), 0);
    Ok(())
}

#[tokio::test]
async fn hooks_run_around_the_drain_and_hear_of_the_end() -> Result<()> {
    let mut scene = Scene::new("hooks").await?;
    let log = scene.node.folder.path().join("log");
    let say = |word: &str| format!("echo {word} $CAREEN_OUTCOME >> {}", log.display());
    scene.machine.add_hook("pre.d/10-log", &say("before"))?;
    scene.machine.add_hook("post.d/10-log", &say("after"))?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    scene.node.until_answered("Upgraded").await?;
    assert_eq!(std::fs::read_to_string(log)?, "before\nafter Upgraded\n");
    Ok(())
}

/// The load balancers get no wait time, because the brain counts that time.
const EXCLUDES: &str = "retry-seconds = 1\n[load-balancer]\nexclude = true\nwait-seconds = 0\n";

#[tokio::test]
async fn node_is_excluded_from_load_balancers_during_the_upgrade() -> Result<()> {
    let mut scene = Scene::with_policy("excluded", EXCLUDES).await?;
    scene
        .node
        .label(json!({ "kubernetes.io/os": "linux" }))
        .await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot_silently().await?;
    let node = scene.node.now().await?;
    assert!(is_excluded(&node) && is_cordoned(&node));
    assert_eq!(annotation(&node, names::EXCLUDED_BY), "r1-aaaaaaaaaaaa");
    scene.kubelet_registers().await?;
    let node = scene.node.until_answered("Upgraded").await?;
    assert!(!is_excluded(&node));
    assert_eq!(annotation(&node, names::EXCLUDED_BY), "");
    Ok(())
}

#[tokio::test]
async fn a_label_that_somebody_else_has_set_stays() -> Result<()> {
    let mut scene = Scene::with_policy("excluded-by-hand", EXCLUDES).await?;
    scene
        .node
        .label(json!({ names::EXCLUDED: "by-hand" }))
        .await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    let node = scene.node.until_answered("Upgraded").await?;
    assert_eq!(
        node.labels().get(names::EXCLUDED).map(String::as_str),
        Some("by-hand")
    );
    Ok(())
}

#[tokio::test]
async fn pods_of_a_later_group_stay_until_those_before_them_are_gone() -> Result<()> {
    let order = "retry-seconds = 1\n[drain]\norder = [{ priority = 1000000000 }]\n";
    let mut scene = Scene::with_policy("order", order).await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    pods.budget("always-one", "web", 1).await?;
    let critical = json!({ "spec": { "priorityClassName": "system-cluster-critical" } });
    pods.run("db", critical).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    let held = |node: &Node| says(node, "always-one blocks pod");
    scene
        .node
        .until("the first group is held up", &held)
        .await?;
    assert_eq!(pods.names().await?, ["db", "web"]);
    pods.drop_budget("always-one").await?;
    scene.reboot_silently().await?;
    assert!(pods.names().await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn skipped_drain_cordons_and_leaves_the_pods() -> Result<()> {
    let mut scene = Scene::with_policy("skipped", "[drain]\nskip = true\n").await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot_silently().await?;
    assert!(is_cordoned(&scene.node.now().await?));
    assert_eq!(pods.names().await?, ["web"]);
    Ok(())
}

#[tokio::test]
async fn a_trial_is_watched_for_the_soak_that_the_requester_asks_for() -> Result<()> {
    let mut scene = Scene::new("soak").await?;
    scene.node.annotate(json!({ names::SOAK: "600" })).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    let soaks = |node: &Node| says(node, "\"code\":\"Soaking\"");
    scene.node.until("the soak", &soaks).await?;
    assert_eq!(scene.machine.times("Bless"), 0);
    scene.kill_agent()?;
    scene.machine.pass_seconds(600);
    scene.start_agent()?;
    scene.node.until_answered("Upgraded").await?;
    Ok(())
}

#[tokio::test]
async fn opted_out_node_refuses_with_the_stated_reason() -> Result<()> {
    let scene = Scene::new("left-out").await?;
    let why = json!({ names::OPT_OUT: "holds the only GPU" });
    scene.node.annotate(why).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    let node = scene.node.until_answered("Failed").await?;
    let said = annotation(&node, names::FAILURE_REASON);
    assert!(said.contains("holds the only GPU"), "{said}");
    assert_eq!(scene.machine.begun(), Vec::<&str>::new());
    Ok(())
}

#[tokio::test]
async fn broken_policy_lets_a_running_upgrade_use_the_last_good_one() -> Result<()> {
    let mut scene = Scene::with_policy("broken", "[drain]\nskip = true\n").await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    scene.machine.fault("Deploy", Some(Fault::Hangs));
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.machine.until_begun("Deploy", 0).await;
    scene.kill_agent()?;
    std::fs::write(scene.policy(), "[drain]\nskip = maybe\n")?;
    scene.machine.fault("Deploy", None);
    scene.start_agent()?;
    scene.reboot().await?;
    scene.node.until_answered("Upgraded").await?;
    assert_eq!(pods.names().await?, ["web"], "skipped all the same");
    scene
        .node
        .annotate(json!({ names::UPGRADE_ID: "again", names::IMAGE: OLD_IMAGE }))
        .await?;
    let node = scene.node.until_answered("Failed").await?;
    let said = annotation(&node, names::FAILURE_REASON);
    assert!(said.contains("policy.toml line 2, column 8"), "{said}");
    Ok(())
}

#[tokio::test]
async fn rehearsal_required_after_the_drain_refuses_the_arming() -> Result<()> {
    let lenient = "retry-seconds = 1\ntries = 2\n[health]\nrehearse = \"warn\"\n";
    let scene = Scene::with_policy("required-late", lenient).await?;
    let fails = Reason::UnhealthyBefore {
        check: "50-storage".to_owned(),
        detail: "no /dev/sdb".to_owned(),
    };
    scene.machine.fault(CHECKS, Some(Fault::Fails(fails)));
    scene.machine.fault("Snapshot", Some(Fault::Held));
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.machine.until_begun("Snapshot", 0).await;
    std::fs::write(scene.policy(), "retry-seconds = 1\ntries = 2\n")?;
    scene.machine.fault("Snapshot", None);
    let node = scene.node.until_answered("Failed").await?;
    let said = annotation(&node, names::FAILURE_REASON);
    assert!(said.contains("50-storage"), "{said}");
    assert_eq!((scene.machine.times("Arm"), scene.machine.boots()), (0, 0));
    let back = |node: &Node| !is_cordoned(node);
    scene.node.until("the node is given back", &back).await?;
    Ok(())
}
