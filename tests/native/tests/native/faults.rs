//! What breaks around a control plane, on a cluster of one: each fault is told, and its end too.

use anyhow::{Context, Result};
use kube::Client;
use kube::api::{Api, DeleteParams};
use native::{Cluster, Member, until};
use serde_json::{Value, json};

use crate::control::answer;

/// kubeadm's configuration for a certificate that ends a second after it is made.
const ENDS: &str = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n\
    certificateValidityPeriod: 1s\nencryptionAlgorithm: ECDSA-P256\nkubernetesVersion: ";

#[tokio::test]
async fn each_fault_of_a_control_plane_is_told_until_it_ends() -> Result<()> {
    let cluster = Cluster::start(1)?;
    let member = &cluster.members()[0];
    let client = cluster.client().await?;
    is_well(member).await;
    the_virtual_address_is_away(member).await?;
    admin_conf_is_missing(member).await?;
    certificates_have_ended(member, cluster.images().version()).await?;
    etcd_does_not_answer(member).await?;
    the_database_is_full(member).await?;
    the_lock_is_removed(member, &client).await
}

async fn the_virtual_address_is_away(member: &Member) -> Result<()> {
    member.run("ip", &["route", "add", "unreachable", "192.0.2.1"])?;
    let all = found(member).await?;
    assert_eq!(codes(&all, "wait"), ["ApiAway"], "{all:#}");
    assert!(
        all["findings"][0]["says"]
            .to_string()
            .contains("virtual address")
    );
    assert!(all["survey"]["versions"]["cluster"].is_string(), "{all:#}");
    // The own API server writes to the same etcd.
    for (verb, answers) in [("lock", "locked"), ("unlock", "released")] {
        let (told, code) = answer(member, &[verb, "--upgrade", "7"]).await?;
        assert_eq!(
            (&told["answer"], code),
            (&json!(answers), Some(0)),
            "{told}"
        );
    }
    member.run("ip", &["route", "del", "unreachable", "192.0.2.1"])?;
    is_well(member).await;
    Ok(())
}

async fn admin_conf_is_missing(member: &Member) -> Result<()> {
    let (there, away) = ("/etc/kubernetes/admin.conf", "/etc/kubernetes/away.conf");
    member.run("mv", &[there, away])?;
    let all = found(member).await?;
    assert_eq!(codes(&all, "refuse"), ["NoAdminCredential"], "{all:#}");
    for verb in ["lock", "unlock"] {
        let (failed, code) = answer(member, &[verb, "--upgrade", "7"]).await?;
        let expected = (&json!("credential"), Some(1));
        assert_eq!((&failed["source"], code), expected, "{failed}");
    }
    member.run("mv", &[away, there])?;
    is_well(member).await;
    Ok(())
}

/// The survey names the command, and the command is enough.
async fn certificates_have_ended(member: &Member, version: &str) -> Result<()> {
    member.write("/etc/ends.yaml", &format!("{ENDS}{version}\n"))?;
    let renew = |name, more: &[&str]| {
        let arguments = [&["certs", "renew", name], more].concat();
        member.run("kubeadm", &arguments)
    };
    for name in ["admin.conf", "etcd-healthcheck-client"] {
        renew(name, &["--config", "/etc/ends.yaml"])?;
    }
    until("the end of both", async || {
        let all = found(member).await.unwrap_or_default();
        codes(&all, "wait").len() == 2
    })
    .await;
    let all = found(member).await?;
    assert_eq!(codes(&all, "refuse"), ["CertificatesExpired"], "{all:#}");
    let says = all["findings"][0]["says"].as_str().context("no text")?;
    for part in [
        "admin.conf",
        "healthcheck-client",
        "kubeadm certs renew all",
    ] {
        assert!(says.contains(part), "{says}");
    }
    let waits = codes(&all, "wait");
    assert_eq!(waits, ["EtcdUnhealthy", "ApiAway"], "{all:#}");
    renew("all", &[])?;
    is_well(member).await;
    Ok(())
}

async fn etcd_does_not_answer(member: &Member) -> Result<()> {
    member.signal_pod("etcd", "STOP")?;
    let all = found(member).await?;
    let waits = codes(&all, "wait");
    assert!(waits.contains(&"EtcdUnhealthy"), "{all:#}");
    assert!(
        codes(&all, "refuse").is_empty(),
        "it can end by itself: {all:#}"
    );
    let (failed, code) = answer(member, &["save", "--upgrade", "7"]).await?;
    assert_eq!(
        (&failed["source"], code),
        (&json!("etcd"), Some(1)),
        "{failed}"
    );
    member.signal_pod("etcd", "CONT")?;
    is_well(member).await;
    Ok(())
}

/// The alarm that etcd raises at its quota. It refuses writes then, also that of the lock.
async fn the_database_is_full(member: &Member) -> Result<()> {
    let etcd = member.etcd().await?;
    let own = etcd.status().await?["header"]["member_id"].clone();
    let alarm = async |action: &str| {
        let body = json!({ "action": action, "memberID": own, "alarm": "NOSPACE" });
        etcd.call("maintenance/alarm", &body).await
    };
    alarm("ACTIVATE").await?;
    let all = found(member).await?;
    assert_eq!(codes(&all, "refuse"), ["EtcdAlarm"], "{all:#}");
    let (failed, code) = answer(member, &["lock", "--upgrade", "7"]).await?;
    assert_eq!(
        (&failed["source"], code),
        (&json!("api"), Some(1)),
        "{failed}"
    );
    let (saved, code) = answer(member, &["save", "--upgrade", "7"]).await?;
    assert_eq!(
        (&saved["answer"], code),
        (&json!("saved"), Some(0)),
        "{saved}"
    );
    alarm("DEACTIVATE").await?;
    is_well(member).await;
    Ok(())
}

/// The upgrade that had it takes it again, and says that somebody has removed it.
async fn the_lock_is_removed(member: &Member, client: &Client) -> Result<()> {
    let (taken, _) = answer(member, &["lock", "--upgrade", "7"]).await?;
    assert_eq!(taken["taken"]["how"], "free", "{taken}");
    let leases: Api<k8s_openapi::api::coordination::v1::Lease> =
        Api::namespaced(client.clone(), "kube-system");
    leases
        .delete("careen-control-plane", &DeleteParams::default())
        .await?;
    let (again, _) = answer(member, &["lock", "--upgrade", "7"]).await?;
    assert_eq!(again["taken"]["how"], "free", "{again}");
    let (released, _) = answer(member, &["unlock", "--upgrade", "7"]).await?;
    assert_eq!(released["answer"], "released", "{released}");
    Ok(())
}

async fn is_well(member: &Member) {
    until("a control plane without faults", async || {
        found(member)
            .await
            .is_ok_and(|all| codes(&all, "wait").is_empty() && codes(&all, "refuse").is_empty())
    })
    .await;
}

async fn found(member: &Member) -> Result<Value> {
    answer(member, &["survey"]).await.map(|(all, _)| all)
}

/// The codes of the findings of one class, each once.
fn codes<'a>(all: &'a Value, class: &str) -> Vec<&'a str> {
    let findings = all["findings"].as_array().into_iter().flatten();
    let found = findings.filter(|one| one["class"] == class);
    let mut codes: Vec<_> = found.filter_map(|one| one["code"].as_str()).collect();
    codes.dedup();
    codes
}
