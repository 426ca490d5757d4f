//! Alerts and dashboard against the metrics that the agent and careen-provider really serve. A real
//! Prometheus reads them during upgrades. The tests run only by name (`make monitoring`), because
//! they fetch Prometheus.

mod dashboard;
mod hosts;
mod prometheus;
mod proxied;
mod rbac_proxy;
mod scraping;

use std::fs;
use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use careen_tests::cluster::PATIENCE;
use careen_tests::machine::NEW_IMAGE;
use careen_tests::management::Management;
use careen_tests::node::TestNode;
use careen_tests::replica::{Replica, get};
use careen_tests::scene::Scene;
use kube::api::{Patch, PatchParams};
use prometheus::{Of, Prometheus, free, promtool};
use rbac_proxy::{RbacProxy, address_of_a_node};
use scraping::Scraping;
use serde_json::json;
use testkit::cluster_api::objects;
use upgrade::names;
use upgrade::observe::Check;

#[test]
fn the_alerts_parse_and_fire_for_their_reasons_alone() -> Result<()> {
    for of in [Of::Debian, Of::Upstream] {
        promtool(of, &["check", "rules", "alerts.yaml"], None)?;
        for test in ["alerts_test.yaml", "alerts_days_test.yaml"] {
            promtool(of, &["test", "rules", test], None)?;
        }
    }
    Ok(())
}

/// The test does not check that the token file exists, because it exists only in the pod.
#[test]
fn the_scrape_configuration_is_one_to_prometheus() -> Result<()> {
    let arguments = ["check", "config", "--syntax-only", "scrape.yaml"];
    promtool(Of::Upstream, &arguments, None)
}

#[test]
fn every_alert_has_its_test_and_its_words_in_the_docs() -> Result<()> {
    let alerts = fs::read_to_string(prometheus::shipped("alerts.yaml"))?;
    let tests = fs::read_to_string(prometheus::shipped("alerts_test.yaml"))?;
    let docs = fs::read_to_string(prometheus::tree().join("docs/monitoring.md"))?;
    let names = alerts
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "));
    for name in names {
        let fires = tests.split("alertname: ").any(|rest| {
            let (first, rest) = rest.split_once('\n').unwrap_or_default();
            first == name && rest.trim_start().starts_with("exp_alerts:")
        });
        ensure!(fires, "no test has {name} fire");
        ensure!(
            docs.contains(&format!("### {name}\n")),
            "docs/monitoring.md says nothing of {name}"
        );
    }
    Ok(())
}

/// A trial that a check fails, then one that succeeds. A person requests both.
async fn falls_back_then_upgrades(prometheus: &Prometheus, scene: &mut Scene) -> Result<()> {
    let broken = Check::Broken("the shop is closed".to_owned());
    scene
        .machine
        .set_local(|local| local.required = vec![("shop".to_owned(), broken)]);
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    scene.reboot().await?;
    scene.node.until_answered("Failed").await?;
    prometheus
        .until("ALERTS{alertname=\"CareenFellBack\",alertstate=\"firing\",reason=\"UserCheck\"}")
        .await?;
    scene.machine.set_local(|local| local.required = Vec::new());
    scene
        .node
        .annotate(json!({ names::UPGRADE_ID: "again" }))
        .await?;
    scene.reboot().await?;
    scene.node.until_answered("Upgraded").await?;
    prometheus
        .until("careen_agent_phase{phase=\"Upgraded\"} == 1")
        .await
}

/// Writes the agent's final status for this request: it fell back, and the durations.
async fn agent_falls_back(scene: &Management, node: &str, id: &str) -> Result<()> {
    let reached = [("Accepted", 1000), ("Trial", 1600), ("Failed", 2000)];
    let reached = reached.map(|(phase, at)| json!({ "phase": phase, "at": at }));
    let status = json!({ "id": id, "phase": "Failed", "percent": 100, "code": "UserCheck", "tries": 1, "reached": reached });
    let seconds =
        json!({ "working": 1000, "waiting": 0, "cordoned": 500, "drained": 450, "notReady": 200 });
    let past = json!([{
        "id": id, "answer": "Failed", "image": "x", "began": 1000, "ended": 2000, "tries": 1, "code": "UserCheck", "seconds": seconds,
    }]);
    let annotations = json!({
        names::ANSWER: "Failed", names::STATUS: status.to_string(), names::HISTORY: past.to_string(),
    });
    let change =
        json!({ "metadata": { "annotations": annotations }, "spec": { "unschedulable": false } });
    let how = PatchParams::default();
    let nodes = scene.nodes();
    nodes.patch(node, &how, &Patch::Merge(change)).await?;
    Ok(())
}

/// A Machine whose node works and falls back, while core calls the hook.
async fn a_machine_is_upgraded(
    prometheus: &Prometheus,
    scene: &Management,
    replica: &Replica,
) -> Result<()> {
    scene.machine("watched", "watched-0", json!({})).await?;
    let bundle = scene.until_trusted(replica).await?;
    scene.ask("watched-0").await?;
    let id = scene.until_asked("watched-0", true).await?;
    scene.agent_works("watched-0", &id, "Trial").await?;
    prometheus
        .until("careen_provider_upgrades_in_phase{phase=\"Trial\"}")
        .await?;
    let asked = "rate(careen_provider_hook_replies_total{hook=\"Discovery\"}[10s]) > 0";
    while prometheus.numbers(asked).await?.is_empty() {
        replica.call(&bundle, "Discovery", json!({})).await?;
    }
    agent_falls_back(scene, "watched-0", &id).await?;
    prometheus.until("careen_provider_upgrades_total").await?;
    prometheus
        .until("ALERTS{alertname=\"CareenMachinesFallBack\",alertstate=\"firing\",reason=\"UserCheck\"}")
        .await
}

/// The text for promtool, which reads the older of the two formats. In that format the help line of
/// a counter uses its full name.
fn older_format(text: &str) -> String {
    let counters: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        .collect();
    let line = |line: &str| {
        let mut words = line.splitn(4, ' ').map(str::to_owned).collect::<Vec<_>>();
        match words.get(2) {
            Some(name) if line.starts_with('#') && counters.contains(&name.as_str()) => {
                words[2] += "_total";
                words.join(" ")
            }
            Some(_) | None => line.to_owned(),
        }
    };
    text.lines().map(|one| line(one) + "\n").collect()
}

async fn is_well_formed(address: SocketAddr) -> Result<()> {
    let answer = get(address, "/metrics").await?;
    let (_, text) = answer.split_once("\r\n\r\n").context("no body")?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("metrics");
    fs::write(&file, older_format(text))?;
    for of in [Of::Debian, Of::Upstream] {
        promtool(of, &["check", "metrics"], Some(&file))?;
    }
    Ok(())
}

/// Runs every query of the dashboard, and every rule.
async fn answers_all(prometheus: &Prometheus) -> Result<()> {
    let mut unanswered = Vec::new();
    for query in dashboard::queries()? {
        match prometheus.numbers(&query.text).await {
            Ok(numbers) if !numbers.is_empty() => {}
            Ok(_) => unanswered.push(format!("{}: nothing: {}", query.panel, query.text)),
            Err(error) => unanswered.push(format!("{}: {error:#}: {}", query.panel, query.text)),
        }
    }
    ensure!(unanswered.is_empty(), "{}", unanswered.join("\n"));
    let bad = prometheus.unhealthy_rules().await?;
    ensure!(bad.is_empty(), "{}", bad.join("\n"));
    Ok(())
}

/// A policy that serves metrics at this address.
fn with_metrics_at(agent: SocketAddr) -> String {
    format!("trials = 1\nretry-seconds = 1\n[metrics]\nlisten = \"{agent}\"\n")
}

#[tokio::test]
async fn prometheus_answers_every_dashboard_query_after_upgrades() -> Result<()> {
    let agent = free()?;
    let mut node = Scene::with_policy("asked-by-hand", &with_metrics_at(agent)).await?;
    let management = Management::new("watched").await?;
    let replica = Replica::start(&management, "one").await?;
    let hosts = hosts::serve().await?;
    let scraping = Scraping::of(&node.node.admin).await?;
    let ip = address_of_a_node(42);
    let _proxy = RbacProxy::start(&node.node.admin, ip, agent).await?;
    scraping::is_reached_at(&node.node, &ip.to_string()).await?;
    let metrics = replica.addresses.metrics;
    scraping::pod(&management.admin, "one", metrics.port(), "Running").await?;
    let targets = [
        ("careen-agent", agent),
        ("careen-provider", metrics),
        ("hosts", hosts),
    ];
    let debian = Prometheus::start(Of::Debian, &scraping::told(targets)).await?;
    let discovered = scraping::with("hosts", hosts, scraping.configs.clone());
    let prometheus = Prometheus::start(Of::Upstream, &discovered).await?;
    let instances = [
        ("careen-agent", node.node.name.clone()),
        ("careen-provider", metrics.to_string()),
    ];
    for (job, instance) in instances {
        let up = format!("up{{job=\"{job}\",instance=\"{instance}\"}} == 1");
        prometheus.until(&up).await?;
    }
    falls_back_then_upgrades(&prometheus, &mut node).await?;
    a_machine_is_upgraded(&prometheus, &management, &replica).await?;
    is_well_formed(agent).await?;
    for one in [&debian, &prometheus] {
        answers_all(one).await?;
    }
    let counted = prometheus
        .numbers("careen_agent_requests_total{outcome=\"fell_back\",reason=\"UserCheck\"}")
        .await?;
    ensure!(
        counted.iter().all(|times| *times >= 1.0) && !counted.is_empty(),
        "{counted:?}"
    );
    Ok(())
}

#[tokio::test]
async fn targets_are_addressed_nodes_and_running_pods_only() -> Result<()> {
    let (plain, six) = (TestNode::new("plain").await?, TestNode::new("six").await?);
    let nowhere = TestNode::new("nowhere").await?;
    let admin = &plain.admin;
    careen_tests::management::definitions::install_all(admin).await?;
    let scraping = Scraping::of(admin).await?;
    scraping::is_reached_at(&plain, "127.0.0.7").await?;
    scraping::is_reached_at(&six, "fd00::7").await?;
    scraping::pod(admin, "lives", 7, "Running").await?;
    scraping::pod(admin, "evicted", 8, "Failed").await?;
    let prometheus = Prometheus::start(Of::Upstream, &scraping.configs).await?;
    let wanted = [
        "https://127.0.0.7:9841/metrics".to_owned(),
        "https://[fd00::7]:9841/metrics".to_owned(),
        "http://127.0.0.1:7/metrics".to_owned(),
    ];
    let found = || async {
        let targets = prometheus.targets().await?;
        for url in &wanted {
            ensure!(targets.contains(url), "{url} is none of {targets:?}");
        }
        Ok(())
    };
    objects::until("the targets", PATIENCE, found).await?;
    let named = format!("up{{instance=\"{}\"}}", six.name);
    prometheus.until(&named).await?;
    let targets = prometheus.targets().await?;
    ensure!(
        !targets.contains(&"http://127.0.0.1:8/metrics".to_owned()),
        "{targets:?}"
    );
    let not_there = format!("up{{instance=\"{}\"}}", nowhere.name);
    ensure!(prometheus.numbers(&not_there).await?.is_empty());
    Ok(())
}
