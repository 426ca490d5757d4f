//! Two members whose etcd is external: one of three endpoints is away, then all of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context, Result};
use kube::Client;
use native::{Cluster, Counter, Member, Outside, built, until};
use serde_json::{Value, json};

use crate::host::{Away, Host};

#[tokio::test(flavor = "multi_thread")]
async fn member_without_etcd_is_upgraded_while_one_endpoint_is_away() -> Result<()> {
    let cluster = Arc::new(Cluster::start_with_external_etcd(2, 3)?);
    let outside = cluster.outside().context("no external etcd")?;
    let client = cluster.client().await?;
    let first = &cluster.members()[0];
    until("nothing to wait for", async || {
        found(first).is_ok_and(|all| worst(&all) == Some("warn"))
    })
    .await;
    let all = found(first)?;
    assert_eq!(all["survey"]["kind"], "external", "{all:#}");
    let members = all["survey"]["members"].as_array().context("no members")?;
    let names = members.iter().filter_map(|one| one["name"].as_str());
    let names: BTreeSet<_> = names.collect();
    assert_eq!(names, BTreeSet::from(["etcd-1", "etcd-2", "etcd-3"]));
    assert_eq!(codes(&all, "warn"), ["ExternalEtcd"], "{all:#}");

    outside.kill(3)?;
    // It may have led.
    until("a warning about one member", async || {
        let all = found(first).unwrap_or_default();
        let warned = codes(&all, "warn") == ["EtcdUnhealthy", "ExternalEtcd"];
        warned && worst(&all) == Some("warn")
    })
    .await;
    one_member_is_upgraded(&cluster, &client).await?;
    without_etcd_a_survey_names_the_endpoints(first, outside).await
}

async fn one_member_is_upgraded(cluster: &Arc<Cluster>, client: &Client) -> Result<()> {
    let image = Arc::new(cluster.images().next_patch()?);
    let counter = Counter::start(client.clone());
    let mut host = Host::new(cluster, 0, &image, &Arc::new(Away::default()));
    host.ask(client, "u1").await;
    host.reboot().await;
    until("the answer", async || {
        let status = host.status(client).await;
        let phase = status["phase"].as_str().unwrap_or_default().to_owned();
        assert!(phase != "Failed" && phase != "Halted", "{status}");
        phase == "Upgraded"
    })
    .await;
    let (written, gap) = counter.end().await?;
    eprintln!("{written} writes, the longest gap took {gap:?}");
    let status = host.status(client).await;
    let expected = json!({ "locked": false, "raised": image.version() });
    assert_eq!(status["controlPlane"], expected, "{status}");
    let member = host.member();
    assert!(!member.path("/var/lib/careen/etcd/u1.db")?.exists());
    let manifests = "/etc/kubernetes/manifests";
    assert!(!member.path(&format!("{manifests}/etcd.yaml"))?.exists());
    let server = member.read(&format!("{manifests}/kube-apiserver.yaml"))?;
    assert!(server.contains(image.version()), "{server}");
    Ok(())
}

/// kubeadm-config cannot be read then. The manifest of the API server names the endpoints.
async fn without_etcd_a_survey_names_the_endpoints(
    member: &Member,
    outside: &Outside,
) -> Result<()> {
    outside.kill(1)?;
    outside.kill(2)?;
    until("no API server", async || {
        !member.api_server_is_ready().await
    })
    .await;
    let all = found(member)?;
    let waits = codes(&all, "wait");
    assert!(
        waits.contains(&"ApiAway") && waits.contains(&"QuorumAtRisk"),
        "{all:#}"
    );
    let told = all["findings"].to_string();
    for endpoint in outside.endpoints() {
        assert!(told.contains(&endpoint), "{all:#}");
    }
    for number in 1..=3 {
        outside.start(number)?;
    }
    until("nothing to wait for", async || {
        found(member).is_ok_and(|all| codes(&all, "wait").is_empty())
    })
    .await;
    Ok(())
}

/// What a survey prints.
fn found(member: &Member) -> Result<Value> {
    let program = built("careen-control", "careen-control")?;
    let program = program.to_str().context("a path that is no text")?;
    let output = member.command(program, &["survey", "--json"])?.output()?;
    serde_json::from_slice(&output.stdout).with_context(|| format!("{output:?}"))
}

/// The codes of this class, but for what a member without a container runtime does not have.
fn codes<'a>(all: &'a Value, class: &str) -> Vec<&'a str> {
    let findings = all["findings"].as_array().into_iter().flatten();
    let found = findings.filter(|one| one["class"] == class);
    let codes = found.filter_map(|one| one["code"].as_str());
    codes.filter(|code| *code != "NotSeen").collect()
}

/// The class of the first finding: they are sorted.
fn worst(all: &Value) -> Option<&str> {
    all["findings"][0]["class"].as_str()
}
