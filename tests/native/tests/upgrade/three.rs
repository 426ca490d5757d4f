//! Three members that are asked at once, for an image of the same version or of the next patch.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::Api;
use native::{Cluster, Counter, Images, until};

use crate::host::{Away, Host};

/// The longest time without a write. An election alone would take more than a second, and the load
/// balancer takes its time to find a server that is gone.
const GAP: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn members_that_are_asked_at_once_take_turns() -> anyhow::Result<()> {
    let cluster = Arc::new(Cluster::start(3)?);
    let image = Arc::new(Images::lay_out(&cluster.folder().join("images"), "v1.36")?);
    in_turns(&cluster, &image).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it takes four minutes on a quiet machine"]
async fn members_are_raised_in_turns_without_a_lost_write() -> anyhow::Result<()> {
    let cluster = Arc::new(Cluster::start(3)?);
    let image = Arc::new(cluster.images().next_patch()?);
    in_turns(&cluster, &image).await?;
    for member in cluster.members() {
        let server = member.read("/etc/kubernetes/manifests/kube-apiserver.yaml")?;
        assert!(server.contains(image.version()), "{server}");
    }
    Ok(())
}

/// Asks all three at once, and waits for the answers.
async fn in_turns(cluster: &Arc<Cluster>, image: &Arc<Images>) -> anyhow::Result<()> {
    let client = cluster.client().await?;
    let away = Arc::new(Away::default());
    let counter = Counter::start(client.clone());
    let host = |number| Host::new(cluster, number, image, &away);
    let (first, second, third) = (host(0), host(1), host(2));
    for host in [&first, &second, &third] {
        host.ask(&client, "u1").await;
    }
    tokio::join!(
        turn(first, &client),
        turn(second, &client),
        turn(third, &client)
    );
    let (written, gap) = counter.end().await?;
    eprintln!("{written} writes, the longest gap took {gap:?}");
    assert_eq!(away.most(), 1, "never are two members away");
    assert!(gap < GAP, "{gap:?}");
    let leases: Api<Lease> = Api::namespaced(client, "kube-system");
    assert!(leases.get_opt("careen-control-plane").await?.is_none());
    Ok(())
}

/// One node, from its request to the answer.
async fn turn(mut host: Host, client: &Client) {
    host.reboot().await;
    let name = host.member().name().to_owned();
    until(&format!("the answer of {name}"), async || {
        let status = host.status(client).await;
        let phase = status["phase"].as_str().unwrap_or_default().to_owned();
        assert!(phase != "Failed" && phase != "Halted", "{name}: {status}");
        phase == "Upgraded"
    })
    .await;
    let begun = host.begun();
    let place = |step: &str| {
        begun
            .iter()
            .position(|one| one == step)
            .unwrap_or_else(|| panic!("no {step}: {begun:?}"))
    };
    for (first, then) in [
        ("Survey", "Deploy"),
        ("Lock", "SaveEtcd"),
        ("SaveEtcd", "Arm"),
        ("Yield", "Arm"),
        ("Arm", "Bless"),
        ("Bless", "Unlock"),
    ] {
        assert!(place(first) < place(then), "{first}, {then}: {begun:?}");
    }
    let snapshot = "/var/lib/careen/etcd/u1.db";
    assert!(host.member().path(snapshot).unwrap().exists());
    let status = host.status(client).await;
    let control_plane = &status["controlPlane"];
    assert_eq!(control_plane["locked"], false, "{status}");
    assert_eq!(control_plane["snapshot"], snapshot, "{status}");
}
