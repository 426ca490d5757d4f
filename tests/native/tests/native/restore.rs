//! The chapter "Restore the control plane" of docs/control-planes.md, command by command.

use std::fs;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::Api;
use native::{Etcd, Member, until};
use serde_json::{Value, json};
use testkit::etcdutl;

use crate::control::answer;
use crate::three::writes;

const SNAPSHOT: &str = "/var/lib/careen/etcd/7.db";

/// All members lose their data. What was written before the snapshot is there again, and the
/// cluster takes new writes.
pub async fn a_destroyed_etcd_comes_back_from_one_snapshot(
    members: &[Member],
    etcds: &[Etcd],
    client: &Client,
) -> Result<()> {
    until("all members healthy", async || all_follow(etcds).await).await;
    // An API server that has just started may not know yet what a kubelet may read.
    until("a snapshot with kubeadm's configuration", async || {
        let saved = answer(&members[0], &["save", "--upgrade", "7"]).await;
        saved.is_ok_and(|(saved, code)| code == Some(0) && saved.get("noConfiguration").is_none())
    })
    .await;
    let note: Value = serde_json::from_str(&members[0].read("/var/lib/careen/etcd/7.json")?)?;
    let configuration = note["clusterConfiguration"].as_str().unwrap_or_default();
    ensure!(configuration.contains("controlPlaneEndpoint"), "{note:#}");
    until("a write after it", async || writes(client, "after").await).await;

    for member in members {
        let stop = "mkdir /etc/kubernetes/stopped && \
                    mv /etc/kubernetes/manifests/*.yaml /etc/kubernetes/stopped/";
        member.run("sh", &["-c", stop])?;
    }
    for member in members {
        until("no pod", async || {
            ["etcd", "kube-apiserver"]
                .iter()
                .all(|pod| member.pod_process(pod).is_err())
        })
        .await;
        member.run("mv", &["/var/lib/etcd", "/var/lib/etcd.broken"])?;
    }
    let snapshot = members[0].path(SNAPSHOT)?;
    for member in members {
        fs::copy(&snapshot, member.path("/var/lib/snapshot.db")?)?;
        restore(member, &note["etcd"]["peers"])?;
    }
    for member in members {
        let start = "mv /etc/kubernetes/stopped/*.yaml /etc/kubernetes/manifests/";
        member.run("sh", &["-c", start])?;
    }
    until("a write after the restore", async || {
        writes(client, "restored").await
    })
    .await;
    until("all members healthy", async || all_follow(etcds).await).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    ensure!(
        maps.get_opt("again").await?.is_some(),
        "it is in the snapshot"
    );
    ensure!(maps.get_opt("after").await?.is_none(), "it is not");
    Ok(())
}

fn restore(member: &Member, peers: &Value) -> Result<()> {
    let peers = peers.as_array().context("no peers")?;
    let named = |peer: &Value| format!("{}={}", text(&peer["name"]), text(&peer["peerURLs"][0]));
    let all: Vec<_> = peers.iter().map(named).collect();
    let own = peers.iter().find(|peer| peer["name"] == member.name());
    let own = text(&own.context("not a peer")?["peerURLs"][0]);
    let etcdutl = etcdutl::program()?;
    member.run(
        etcdutl.to_str().context("a path that is no text")?,
        &[
            "snapshot",
            "restore",
            "/var/lib/snapshot.db",
            "--name",
            member.name(),
            "--initial-cluster",
            &all.join(","),
            "--initial-advertise-peer-urls",
            &own,
            "--bump-revision",
            "1000000000",
            "--mark-compacted",
            "--data-dir",
            "/var/lib/etcd",
        ],
    )?;
    Ok(())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

async fn all_follow(etcds: &[Etcd]) -> bool {
    for etcd in etcds {
        let status = etcd.call("maintenance/status", &json!({})).await;
        let follows =
            |status: Value| status["leader"].is_string() && status.get("errors").is_none();
        if !status.is_ok_and(follows) {
            return false;
        }
    }
    true
}
