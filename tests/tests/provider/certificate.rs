//! The authorities that core trusts when it calls the provider: those in the Secret that the
//! replicas share. (`cluster_api/order.rs` sees core copy them.)

use anyhow::{Context, Result, ensure};
use careen_tests::management::{Management, certificate};
use careen_tests::replica::Replica;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use provider::manifests::NAMESPACE;
use serde_json::Value;

/// Moves the authority in the Secret close to its end, so that its replacement is due.
async fn authority_ends_soon(scene: &Management) -> Result<()> {
    let secrets = scene.secrets(NAMESPACE);
    let name = certificate(&scene.space);
    let mut secret: Secret = secrets.get(&name).await?;
    let data = secret.data.as_mut().context("an empty Secret")?;
    let terms = data.get("terms.json").context("no terms")?;
    let mut terms: Value = serde_json::from_slice(&terms.0)?;
    terms["authorityEnds"] = provider::clock::now().into();
    data.insert(
        "terms.json".to_owned(),
        ByteString(serde_json::to_vec(&terms)?),
    );
    secrets
        .replace(&name, &PostParams::default(), &secret)
        .await?;
    Ok(())
}

#[tokio::test]
async fn core_trusts_both_replicas_across_an_authority_rotation() -> Result<()> {
    let scene = Management::new("trusted").await?;
    let first = Replica::start(&scene, "first").await?;
    let second = Replica::start(&scene, "second").await?;
    let old = scene.until_trusted(&first).await?;
    scene.until_trusted(&second).await?;
    let history = scene.bundles().await?;
    authority_ends_soon(&scene).await?;
    let renewed = || async {
        ensure!(scene.bundle().await? != old, "the old one yet");
        Ok(())
    };
    scene.until("a new authority", renewed).await?;
    // Both replicas now serve only with the new authority.
    let newest = scene.newest_authority().await?;
    for replica in [&first, &second] {
        let served = || async {
            replica
                .call(&newest, "Discovery", serde_json::json!({}))
                .await
        };
        scene.until("the new certificate", served).await?;
    }
    scene.until_trusted(&first).await?;
    scene.until_trusted(&second).await?;
    let seen = history.so_far();
    ensure!(
        seen.len() == 2,
        "from one to the other and not back: {seen:?}"
    );
    Ok(())
}
