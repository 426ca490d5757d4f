//! The program as its pod runs it.

use anyhow::{Context, Result, ensure};
use careen_tests::caller::{Caller, bundle};
use careen_tests::cluster::{PATIENCE, plane};
use careen_tests::management::definitions::install_all;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use provider::{manifests, names};
use serde_json::json;
use testkit::cluster_api::objects;

use crate::pod::{self, Pod};
use crate::shipped_one;

/// The leader according to the release's Lease.
async fn leader(admin: &Client) -> Result<String> {
    let leases: Api<Lease> = Api::namespaced(admin.clone(), manifests::NAMESPACE);
    let ask = || async {
        let spec = leases.get(names::MANAGER).await?.spec;
        let holder = spec.and_then(|spec| spec.holder_identity);
        holder.context("nobody holds the Lease")
    };
    objects::until("a leader", PATIENCE, ask).await
}

#[tokio::test]
async fn shipped_deployment_arguments_start_a_ready_leading_provider() -> Result<()> {
    let plane = plane().await?;
    let admin = plane.client().await?;
    install_all(&admin).await?;
    objects::apply(&admin, &shipped_one("ExtensionConfig")?).await?;
    let pod = Pod::start(plane, &admin).await?;
    for probe in ["livenessProbe", "readinessProbe"] {
        pod.until_well(probe).await?;
    }
    let trusted = objects::until("its authorities", PATIENCE, || bundle(&admin)).await?;
    let caller = Caller::trusting(pod.address("hooks").await?, &trusted).await?;
    let answer = caller.call("Discovery", json!({})).await?;
    assert_eq!(answer["status"], "Success", "{answer}");
    let handlers = answer["handlers"].as_array().context("no handlers")?;
    ensure!(!handlers.is_empty(), "{answer}");
    let leader = leader(&admin).await?;
    assert!(leader.starts_with(pod::NAME), "{leader}");
    Ok(())
}
