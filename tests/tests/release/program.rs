//! The program as its pod runs it.

use anyhow::{Context, Result, ensure};
use careen_tests::caller::Caller;
use careen_tests::cluster::{PATIENCE, plane};
use careen_tests::management::definitions::install_all;
use careen_tests::provider_process::extensions;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use provider::{manifests, names};
use serde_json::{Value, json};
use testkit::cluster_api::objects;

use crate::pod::{self, Pod};
use crate::shipped_one;

/// The authorities that core is to trust, as soon as the program has published them.
async fn bundle(admin: &Client) -> Result<String> {
    let extensions = extensions(admin)?;
    let ask = || async {
        let extension = extensions.get(names::MANAGER).await?;
        let bundle = extension.data.pointer("/spec/clientConfig/caBundle");
        let bundle = bundle.and_then(Value::as_str).context("no caBundle yet")?;
        Ok(bundle.to_owned())
    };
    objects::until("a caBundle", PATIENCE, ask).await
}

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
    let caller = Caller::trusting(pod.address("hooks").await?, &bundle(&admin).await?).await?;
    let answer = caller.call("Discovery", json!({})).await?;
    assert_eq!(answer["status"], "Success", "{answer}");
    let handlers = answer["handlers"].as_array().context("no handlers")?;
    ensure!(!handlers.is_empty(), "{answer}");
    let leader = leader(&admin).await?;
    assert!(leader.starts_with(pod::NAME), "{leader}");
    Ok(())
}
