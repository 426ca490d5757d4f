//! What the status of a catalogue says about its own entries, and about overlaps with other
//! catalogues.

use anyhow::{Context, Result, ensure};
use careen_tests::management::Management;
use careen_tests::replica::Replica;
use kube::api::Api;
use provider::catalogue::{ImageCatalogue, ImageCatalogueStatus};
use serde_json::{Value, json};
use testkit::cluster_api::objects;

fn entry(version: &str, reference: &str, word: char) -> Value {
    let commit = word.to_string().repeat(64);
    json!({ "kubernetesVersion": version, "image": format!("ostree:{reference}@{commit}") })
}

async fn apply(scene: &Management, name: &str, images: &[Value]) -> Result<()> {
    let object = json!({
        "apiVersion": "careen.dev/v1alpha1", "kind": "ImageCatalogue", "metadata": { "name": name }, "spec": { "images": images },
    });
    objects::apply(&scene.admin, &object).await.map(drop)
}

/// Waits for this reason on the catalogue's current generation.
async fn until(scene: &Management, name: &str, reason: &str) -> Result<ImageCatalogueStatus> {
    let catalogues: Api<ImageCatalogue> = Api::all(scene.admin.clone());
    let look = || async {
        let catalogue = catalogues.get(name).await?;
        let generation = catalogue.metadata.generation;
        let status = catalogue.status.context("no status yet")?;
        ensure!(status.observed_generation == generation, "of an older one");
        ensure!(status.conditions[0].reason == reason, "{status:?}");
        Ok(status)
    };
    scene.until(&format!("{name}: {reason}"), look).await
}

#[tokio::test]
async fn catalogue_is_ready_only_when_every_entry_resolves() -> Result<()> {
    let scene = Management::new("resolves").await?;
    let _replica = Replica::start(&scene, "one").await?;
    let good = entry("v1.90.1", "site:os", 'a');
    // The API server accepts the entry, but a ref does not have this form.
    let unreadable = entry("v1.90.2", "site:os//edge", 'b');
    apply(&scene, "resolves", &[good.clone(), unreadable]).await?;
    let status = until(&scene, "resolves", "SomeDoNot").await?;
    let condition = &status.conditions[0];
    assert_eq!(
        (condition.kind.as_str(), condition.status.as_str()),
        ("Ready", "False")
    );
    assert!(condition.message.contains("site:os//edge"), "{condition:?}");
    let resolve: Vec<bool> = status.images.iter().map(|image| image.resolves).collect();
    assert_eq!(resolve, [true, false]);
    apply(&scene, "resolves", &[good]).await?;
    let status = until(&scene, "resolves", "AllResolve").await?;
    assert_eq!(status.conditions[0].status, "True");
    assert_eq!(status.images[0].reason, None);
    Ok(())
}

/// A cell of the API server's own table, which `kubectl get` shows.
async fn shown(scene: &Management, name: &str, column: &str) -> Result<Value> {
    let path = format!("/apis/careen.dev/v1alpha1/imagecatalogues/{name}");
    let request = http::Request::get(path);
    let request = request.header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let table: Value = scene.admin.request(request.body(Vec::new())?).await?;
    let columns = table["columnDefinitions"]
        .as_array()
        .context("no columns")?;
    let at = columns.iter().position(|one| one["name"] == column);
    Ok(table["rows"][0]["cells"][at.context("no such column")?].clone())
}

#[tokio::test]
async fn kubectl_shows_every_version_of_a_catalogue_once() -> Result<()> {
    let scene = Management::new("columns").await?;
    let _replica = Replica::start(&scene, "one").await?;
    let for_arm = |mut entry: Value| {
        entry["architecture"] = json!("arm64");
        entry
    };
    let (old, new) = (
        entry("v1.92.1", "site:os", 'a'),
        entry("v1.92.2", "site:os", 'b'),
    );
    let images = [old, for_arm(entry("v1.92.1", "site:arm", 'c')), new];
    apply(&scene, "columns", &images).await?;
    until(&scene, "columns", "AllResolve").await?;
    assert_eq!(
        shown(&scene, "columns", "Versions").await?,
        "v1.92.1,v1.92.2"
    );
    assert_eq!(shown(&scene, "columns", "Ready").await?, "True");
    Ok(())
}

#[tokio::test]
async fn duplicate_entries_are_reported_within_and_across_catalogues() -> Result<()> {
    let scene = Management::new("twins").await?;
    let _replica = Replica::start(&scene, "one").await?;
    let (first, second) = (
        entry("v1.91.1", "site:os", 'a'),
        entry("v1.91.1", "site:os", 'b'),
    );
    apply(&scene, "twins-a", &[first.clone(), second.clone()]).await?;
    let status = until(&scene, "twins-a", "SomeDoNot").await?;
    assert!(
        status.images.iter().all(|image| !image.resolves),
        "{status:?}"
    );

    apply(&scene, "twins-a", &[first]).await?;
    until(&scene, "twins-a", "AllResolve").await?;
    let mut second = second;
    // A selector without labels is no selector.
    second["machineSelector"] = json!({ "matchLabels": {} });
    apply(&scene, "twins-b", std::slice::from_ref(&second)).await?;
    for (name, other) in [("twins-a", "twins-b"), ("twins-b", "twins-a")] {
        let status = until(&scene, name, "SomeDoNot").await?;
        let message = &status.conditions[0].message;
        assert!(
            message.ends_with(&format!(
                " in ImageCatalogue {other} are for the same Machines. Keep one of them."
            )),
            "{message}"
        );
    }
    second["machineSelector"] = json!({ "matchLabels": { "pool": "edge" } });
    apply(&scene, "twins-b", &[second]).await?;
    for name in ["twins-a", "twins-b"] {
        until(&scene, name, "AllResolve").await?;
    }
    Ok(())
}
