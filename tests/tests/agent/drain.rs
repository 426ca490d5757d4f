//! Drains against real disruption budgets, with only the kubelet's credential.

use std::time::Duration;

use agent::cluster::{Cluster, SILENCE, refused};
use agent::drain::LIST_PODS;
use anyhow::Result;
use careen_tests::busy::Busy;
use careen_tests::machine::{Fault, NEW_IMAGE};
use careen_tests::node::{annotation, is_cordoned};
use careen_tests::pods::Namespace;
use careen_tests::scene::Scene;
use careen_tests::webhook::Silent;
use k8s_openapi::api::core::v1::Node;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use upgrade::{Disposition, Reason, names};

/// A policy whose drain gives up after two seconds.
const HASTY: &str = "retry-seconds = 1\n[drain]\ndeadline-seconds = 2\n";

/// A policy whose drain gives up after twenty seconds.
const HASTY_ENOUGH: &str = "retry-seconds = 1\n[drain]\ndeadline-seconds = 20\n";

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
async fn more_pods_than_are_listed_at_once_are_all_evicted() -> Result<()> {
    let mut scene = Scene::new("many").await?;
    let pods = Namespace::new(&scene.node).await?;
    for number in 0..120 {
        pods.run(&format!("web-{number}"), json!({})).await?;
    }
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot_silently().await?;
    assert!(pods.names().await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_budget_that_never_allows_ends_the_upgrade_and_is_named() -> Result<()> {
    let mut scene = Scene::with_policy("budget", HASTY).await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    pods.budget("always-one", "web", 1).await?;
    // Stops the agent at a point where no node is cordoned yet.
    scene.machine.fault("Deploy", Some(Fault::Hangs));
    scene.node.ask_for(NEW_IMAGE).await?;
    let warned = |node: &_| {
        annotation(node, names::STATUS).contains("\"code\":\"BudgetBlocks\"")
            && annotation(node, names::ANSWER) == "InProgress"
            && !is_cordoned(node)
    };
    scene
        .node
        .until("a warning before the cordon", &warned)
        .await?;
    scene.kill_agent()?;
    scene.machine.fault("Deploy", None);
    scene.start_agent()?;
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
async fn agent_restart_does_not_extend_the_drain_deadline() -> Result<()> {
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
async fn a_former_upgrades_cordon_stays() -> Result<()> {
    let mut scene = Scene::new("old-mark").await?;
    let mark = "r0-of-an-upgrade-that-halted";
    let marked = json!({ "annotations": { names::CORDONED_BY: mark } });
    let halted = json!({ "metadata": marked, "spec": { "unschedulable": true } });
    scene.node.change(halted).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    let node = scene.node.until_answered("Upgraded").await?;
    assert!(is_cordoned(&node));
    assert_eq!(annotation(&node, names::CORDONED_BY), mark);
    Ok(())
}

#[tokio::test]
async fn a_pod_that_ends_with_its_namespace_is_waited_for() -> Result<()> {
    let mut scene = Scene::new("terminating").await?;
    let pods = Namespace::new(&scene.node).await?;
    let slow = json!({ "spec": { "terminationGracePeriodSeconds": 3600 } });
    pods.run("web", slow).await?;
    pods.delete().await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    let refused = |node: &_| annotation(node, names::STATUS).contains("being terminated");
    scene
        .node
        .until("the server's words, and no end", &refused)
        .await?;
    assert_eq!(pods.names().await?, ["web"]);
    pods.end("web").await?;
    scene.reboot_silently().await?;
    Ok(())
}

#[tokio::test]
async fn a_server_too_busy_to_list_pods_is_asked_again() -> Result<()> {
    let busy = Busy::start().await?;
    let cluster = Cluster::new(&busy.kubeconfig, SILENCE);
    let policy = upgrade::policy::Drain::default();
    let blocked = agent::drain::rehearse(&cluster, "node", &policy).await;
    let reason = blocked.map_err(|error| error.into_reason(refused(LIST_PODS)));
    let Err(reason @ Reason::ApiAway { .. }) = reason else {
        anyhow::bail!("{reason:?}");
    };
    assert_eq!(reason.disposition(), Disposition::Retry);
    assert!(reason.to_string().contains("Too many requests"), "{reason}");
    Ok(())
}

/// As a StatefulSet recreates a pod: the server's answer about the old pod is not an answer about
/// its successor.
#[tokio::test]
async fn drain_evicts_a_pod_recreated_under_the_same_name() -> Result<()> {
    let mut scene = Scene::new("successor").await?;
    let pods = Namespace::new(&scene.node).await?;
    let slow = json!({ "spec": { "terminationGracePeriodSeconds": 3600 } });
    pods.run("db", slow).await?;
    pods.run("web", json!({})).await?;
    pods.budget("always-one", "web", 1).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    pods.until_ending("db").await?;
    pods.end("db").await?;
    pods.run("db", json!({})).await?;
    pods.drop_budget("always-one").await?;
    scene.reboot_silently().await?;
    assert!(pods.names().await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_withdrawal_while_the_kubelets_state_is_saved_uncordons() -> Result<()> {
    let scene = Scene::new("slow-disk").await?;
    scene.machine.fault("Snapshot", Some(Fault::Hangs));
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.machine.until_begun("Snapshot", 0).await;
    scene.node.annotate(json!({ names::REQUEST: null })).await?;
    let node = scene.node.until_answered("Failed").await?;
    assert!(annotation(&node, names::FAILURE_REASON).starts_with("withdrawn"));
    assert!(!is_cordoned(&node));
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

#[tokio::test]
async fn pod_that_is_replaced_on_the_cordoned_node_is_not_chased() -> Result<()> {
    let mut scene = Scene::with_policy("replaced", HASTY_ENOUGH).await?;
    let pods = Namespace::new(&scene.node).await?;
    let tolerant = json!({ "spec": { "tolerations": [{ "operator": "Exists" }] } });
    let drained = async {
        pods.until_there("cni-0").await?;
        scene.node.ask_for(NEW_IMAGE).await?;
        scene.reboot_silently().await
    };
    tokio::select! {
        ended = pods.keep_one("cni", tolerant) => ended?,
        rebooted = drained => rebooted?,
    }
    assert_eq!(pods.names().await?, ["cni-1"], "evicted once");
    Ok(())
}

#[tokio::test]
async fn reboot_waits_for_containers_of_a_pod_deleted_by_force() -> Result<()> {
    let mut scene = Scene::new("by-force").await?;
    let pods = Namespace::new(&scene.node).await?;
    let slow = json!({ "spec": { "terminationGracePeriodSeconds": 600 } });
    pods.run("db-0", slow).await?;
    pods.run("log", Namespace::owned_by_a_daemonset()).await?;
    let (db, log) = (
        pods.running("db-0", 600).await?,
        pods.running("log", 30).await?,
    );
    scene.machine.runs(vec![db, log.clone()]);
    scene.node.ask_for(NEW_IMAGE).await?;
    pods.until_ending("db-0").await?;
    pods.end("db-0").await?;
    let waits =
        |node: &Node| annotation(node, names::STATUS).contains("waiting for the containers");
    let node = scene.node.until("the pod's name", &waits).await?;
    let said = annotation(&node, names::STATUS);
    let db = format!(
        "1 pod that the API server does not have any more: {}/db-0 (up to 615 s)",
        pods.name
    );
    assert!(said.contains(&db), "{said}");
    let early = tokio::time::timeout(Duration::from_secs(5), scene.machine.until_down()).await;
    assert!(early.is_err(), "its containers still run");
    scene.machine.runs(vec![log]);
    scene.reboot_silently().await
}

#[tokio::test]
async fn reboot_waits_for_the_volumes_of_pods_that_left() -> Result<()> {
    let (gone, kept) = (
        "kubernetes.io/csi/disk.example^gone",
        "kubernetes.io/csi/disk.example^kept",
    );
    let mut scene = Scene::new("volumes").await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.claim("data", "disk.example", "kept").await?;
    let mut daemon = Namespace::owned_by_a_daemonset();
    let claim = json!({ "claimName": "data" });
    daemon["spec"] = json!({ "volumes": [{ "name": "data", "persistentVolumeClaim": claim }] });
    pods.run("log", daemon).await?;
    pods.run("db", json!({})).await?;
    scene.node.attach(&[gone, kept], &[gone, kept]).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    let waits = |node: &_| annotation(node, names::STATUS).contains("volume to detach");
    let node = scene.node.until("the volume's name", &waits).await?;
    let said = annotation(&node, names::STATUS);
    assert!(said.contains(gone) && !said.contains(kept), "{said}");
    assert_eq!(pods.names().await?, ["log"], "the pod has left");
    scene.node.attach(&[gone, kept], &[kept]).await?;
    scene.node.attach(&[kept], &[kept]).await?;
    scene.reboot_silently().await
}

/// The attach-detach controller takes a volume out of the Node's status before it detaches it.
#[tokio::test]
async fn reboot_waits_for_a_volume_that_only_its_attachment_shows() -> Result<()> {
    let (slow, quick) = (
        "kubernetes.io/csi/disk.example^slow",
        "kubernetes.io/csi/disk.example^quick",
    );
    let mut scene = Scene::new("attachment").await?;
    let pods = Namespace::new(&scene.node).await?;
    let digest = Sha256::digest(format!("slowdisk.example{}", scene.node.name));
    let attachment = format!("csi-{}", hex::encode(digest));
    pods.attach(&attachment, "disk.example", "slow").await?;
    scene.node.attach(&[slow, quick], &[slow, quick]).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    let says = |node: &Node, text: &str| annotation(node, names::STATUS).contains(text);
    let both = |node: &Node| says(node, "waiting for 2 volumes to detach");
    scene.node.until("both volumes", &both).await?;
    scene.node.attach(&[], &[]).await?;
    let one = format!("waiting for 1 volume to detach: {slow}");
    let one = |node: &Node| says(node, &one);
    scene.node.until("the slow volume alone", &one).await?;
    pods.detach(&attachment).await?;
    scene.reboot_silently().await
}

#[tokio::test]
async fn restarted_agent_waits_for_the_volumes_of_its_drain() -> Result<()> {
    let slow = "kubernetes.io/csi/disk.example^late";
    let mut scene = Scene::new("attachment-killed").await?;
    let pods = Namespace::new(&scene.node).await?;
    let digest = Sha256::digest(format!("latedisk.example{}", scene.node.name));
    let attachment = format!("csi-{}", hex::encode(digest));
    pods.attach(&attachment, "disk.example", "late").await?;
    scene.node.attach(&[slow], &[slow]).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    let waits = format!("waiting for 1 volume to detach: {slow}");
    let waits = |node: &Node| annotation(node, names::STATUS).contains(&waits);
    scene.node.until("the volume", &waits).await?;
    scene.kill_agent()?;
    scene.node.attach(&[], &[]).await?;
    scene.start_agent()?;
    let early = tokio::time::timeout(Duration::from_secs(10), scene.machine.until_down()).await;
    assert!(early.is_err(), "the volume is still attached");
    pods.detach(&attachment).await?;
    scene.reboot_silently().await
}

#[tokio::test]
async fn volume_that_never_detaches_delays_the_reboot_up_to_the_limit() -> Result<()> {
    let policy = "retry-seconds = 1\n[drain]\ndetach-seconds = 3\n";
    let mut scene = Scene::with_policy("stuck", policy).await?;
    scene.node.attach(&["stuck"], &[]).await?;
    let begun = std::time::Instant::now();
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot_silently().await?;
    assert!(begun.elapsed().as_secs() >= 3, "{:?}", begun.elapsed());
    Ok(())
}

#[tokio::test]
async fn pod_under_two_budgets_is_named_before_the_cordon() -> Result<()> {
    let mut scene = Scene::new("two-budgets").await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    pods.budget("one", "web", 0).await?;
    pods.budget("two", "web", 0).await?;
    scene.machine.fault("Deploy", Some(Fault::Hangs));
    scene.node.ask_for(NEW_IMAGE).await?;
    let warned = |node: &_| {
        let said = annotation(node, names::STATUS);
        said.contains("\"code\":\"DrainRefused\"")
            && said.contains("more than one PodDisruptionBudget")
            && !is_cordoned(node)
    };
    let node = scene
        .node
        .until("a warning before the cordon", &warned)
        .await?;
    let said = annotation(&node, names::STATUS);
    assert!(said.contains(&format!("{}/web", pods.name)), "{said}");
    scene.kill_agent()?;
    scene.machine.fault("Deploy", None);
    pods.drop_budget("two").await?;
    scene.start_agent()?;
    scene.reboot_silently().await?;
    assert!(pods.names().await?.is_empty());
    Ok(())
}

/// A policy whose drain gives up after a minute.
const A_MINUTE: &str = "retry-seconds = 1\n[drain]\ndeadline-seconds = 60\n";

/// The server waits 10 s for the webhook, as it does by default, and then evicts.
#[tokio::test]
async fn eviction_through_a_webhook_that_fails_open_goes_through() -> Result<()> {
    let mut scene = Scene::with_policy("fails-open", A_MINUTE).await?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    let webhook = Silent::for_evictions_in(&pods).await?;
    while webhook.calls() == 0 {
        pods.rehearse_eviction("web").await;
    }
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot_silently().await?;
    assert!(pods.names().await?.is_empty());
    Ok(())
}
