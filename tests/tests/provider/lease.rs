//! One replica leads at a time, and another soon after the leader is gone.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use careen_tests::cluster::{PATIENCE, plane};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use provider::lease::{Candidate, Lead, run};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

struct Replica {
    leads: watch::Receiver<Lead>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

async fn replica(lease: &str, identity: &str) -> Result<Replica> {
    let candidate = Candidate {
        namespace: "default".to_owned(),
        name: lease.to_owned(),
        identity: identity.to_owned(),
    };
    let (lead, leads) = watch::channel(Lead::No);
    let (stop, stopped) = oneshot::channel::<()>();
    let client = plane().await?.client().await?;
    let (_, called) = watch::channel(None);
    let until = async move {
        let _ = stopped.await;
    };
    Ok(Replica {
        leads,
        stop: Some(stop),
        task: tokio::spawn(run(client, candidate, lead, called, until)),
    })
}

/// The current holder. It is empty when there is none, so that the next replica that checks takes
/// the Lease.
async fn holder(lease: &str) -> Result<String> {
    let leases: Api<Lease> = Api::namespaced(plane().await?.client().await?, "default");
    let spec = leases.get(lease).await?.spec;
    Ok(spec
        .and_then(|spec| spec.holder_identity)
        .unwrap_or_default())
}

impl Replica {
    async fn until_it_leads(&mut self) -> Result<()> {
        tokio::time::timeout(PATIENCE, self.leads.wait_for(|lead| lead.holds()))
            .await
            .context("it never leads")??;
        Ok(())
    }
}

#[tokio::test]
async fn stopping_leader_hands_over_at_once_and_dead_one_after_lease() -> Result<()> {
    let mut first = replica("hand-over", "first").await?;
    first.until_it_leads().await?;
    let mut second = replica("hand-over", "second").await?;
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(!second.leads.borrow().holds(), "two lead");
    drop(first.stop.take());
    first.task.await?;
    assert_ne!(holder("hand-over").await?, "first", "it did not let go");
    second.until_it_leads().await?;
    let mut third = replica("hand-over", "third").await?;
    let begun = Instant::now();
    second.task.abort();
    third.until_it_leads().await?;
    assert!(
        begun.elapsed() > Duration::from_secs(12),
        "it took over from one that might live: {:?}",
        begun.elapsed()
    );
    Ok(())
}
