//! The only member: its power goes while kubeadm raises it, then its trial fails, then it is
//! upgraded.

use std::sync::Arc;

use kube::Client;
use native::{Cluster, Counter, until};
use serde_json::{Value, json};
use upgrade::observe::Check;

use crate::bystander::Bystander;
use crate::host::{Away, Host};

#[tokio::test(flavor = "multi_thread")]
async fn only_member_is_raised_through_a_cut_and_a_bad_trial() -> anyhow::Result<()> {
    let cluster = Arc::new(Cluster::start(1)?);
    let client = cluster.client().await?;
    let image = Arc::new(cluster.images().next_patch()?);
    let counter = Counter::start(client.clone());
    let mut host = Host::new(&cluster, 0, &image, &Arc::new(Away::default()));
    let bystander = Bystander::on(host.member().name(), &client).await?;
    host.ask(&client, "u1").await;
    until("the new manifest", async || is_raised(&host)).await;
    host.cut_power();
    let said = host.repair();
    eprintln!("{said}");
    host.boot();

    host.set_local(|local| local.sandbox = Check::Broken("no sandbox".into()));
    host.reboot().await;
    host.reboot().await;
    assert!(!host.runs_new());
    let status = ended(&host, &client, "u1", "Failed").await;
    assert_eq!(status["code"], "Unhealthy", "{status}");
    let version = image.version();
    let snapshot = "/var/lib/careen/etcd/u1.db";
    let expected = json!({ "locked": false, "raised": version, "snapshot": snapshot });
    assert_eq!(status["controlPlane"], expected, "{status}");
    assert!(is_raised(&host), "the control plane only goes forward");
    let begun = host.begun();
    let place = |step: &str| begun.iter().rposition(|one| one == step).unwrap();
    assert!(place("Survey") < place("Unlock"), "{begun:?}");

    host.set_local(|local| local.sandbox = Check::Pass);
    let raised = begun.iter().filter(|one| *one == "Raise").count();
    host.ask(&client, "u2").await;
    host.reboot().await;
    ended(&host, &client, "u2", "Upgraded").await;
    let again = host.begun().iter().filter(|one| *one == "Raise").count();
    assert_eq!(again, raised, "kubeadm has nothing to do any more");
    let left = Bystander::now(&client).await?;
    assert_eq!(left, bystander, "it had nowhere else to go");
    let (written, gap) = counter.end().await?;
    eprintln!("{written} writes, the longest gap took {gap:?}");
    Ok(())
}

/// Whether the API server's manifest is the new one.
pub fn is_raised(host: &Host) -> bool {
    let manifest = host
        .member()
        .read("/etc/kubernetes/manifests/kube-apiserver.yaml");
    manifest.is_ok_and(|text| text.contains(host.image().version()))
}

/// Waits for this answer to this request.
pub async fn ended(host: &Host, client: &Client, id: &str, phase: &str) -> Value {
    until(phase, async || {
        let status = host.status(client).await;
        let found = status["phase"].as_str().unwrap_or_default().to_owned();
        let is_end = ["Failed", "Halted", "Upgraded"].contains(&found.as_str());
        assert!(found == phase || !is_end || status["id"] != id, "{status}");
        found == phase && status["id"] == id
    })
    .await;
    host.status(client).await
}
