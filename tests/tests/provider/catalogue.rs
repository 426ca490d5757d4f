//! What the API server accepts in a catalogue.

use anyhow::{Context, Result};
use careen_tests::cluster::plane;
use kube::Client;
use kube::api::{Api, PostParams};
use provider::catalogue::{ImageCatalogue, manifest};
use serde_json::{Value, json};
use testkit::cluster_api::install_definitions;

async fn installed() -> Result<Client> {
    let client = plane().await?.client().await?;
    install_definitions(&client, &[manifest()?]).await?;
    Ok(client)
}

async fn created(client: &Client, entry: Value) -> Result<Option<String>> {
    let catalogues: Api<ImageCatalogue> = Api::all(client.clone());
    let object = json!({
        "apiVersion": "careen.dev/v1alpha1", "kind": "ImageCatalogue",
        "metadata": { "generateName": "try-" }, "spec": { "images": [entry] },
    });
    let params = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let answer = catalogues
        .create(&params, &serde_json::from_value(object)?)
        .await;
    Ok(answer.err().map(|error| error.to_string()))
}

fn image(end: &str) -> String {
    format!("ostree:site:edge/stable{end}")
}

#[tokio::test]
async fn only_pinned_images_and_exact_versions_are_let_in() -> Result<()> {
    let client = installed().await?;
    let commit = format!("@{}", "a".repeat(64));
    let good = json!({ "kubernetesVersion": "v1.36.3", "image": image(&commit) });
    assert_eq!(created(&client, good).await?, None);
    let unpinned = json!({ "kubernetesVersion": "v1.36.3", "image": image("") });
    let refused = created(&client, unpinned)
        .await?
        .context("an unpinned image was let in")?;
    assert!(refused.contains("image must be pinned"), "{refused}");
    for (version, image) in [
        ("1.36.3", image(&commit)),
        ("v1.36", image(&commit)),
        ("v1.36.3", image("@abc")),
        ("v1.36.3", "docker://example.org/os:latest".to_owned()),
        ("v1.36.3", format!("ostree:site:a b{commit}")),
    ] {
        let entry = json!({ "kubernetesVersion": version, "image": image });
        assert!(
            created(&client, entry).await?.is_some(),
            "{version} {image}"
        );
    }
    Ok(())
}
