//! The objects of the release, as the API server accepts them. (This server does not know the
//! fields of Cluster API's own kind, ExtensionConfig.)

use anyhow::{Context, Result};
use careen_tests::cluster::plane;
use careen_tests::management::definitions::install_all;
use kube::Client;
use kube::api::{DynamicObject, Patch, PatchParams, ValidationDirective};
use serde_json::Value;
use testkit::cluster_api::objects;

use crate::shipped;

/// Makes the same request as `kubectl apply --server-side --dry-run=server --validate=strict`.
async fn tried(client: &Client, object: &Value) -> Result<DynamicObject> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let kind = text("/kind").context("no kind")?;
    let name = text("/metadata/name").context("no name")?;
    let of_kind = objects::kind(text("/apiVersion").context("no apiVersion")?, kind)?;
    let api = objects::api(client, &of_kind, text("/metadata/namespace"));
    let how = PatchParams {
        dry_run: true,
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::apply("careen-release").force()
    };
    let tried = api.patch(name, &how, &Patch::Apply(object)).await;
    tried.with_context(|| format!("{kind} {name}"))
}

fn of_kind<'a>(all: &'a [DynamicObject], kind: &str) -> Result<&'a Value> {
    let is = |object: &&DynamicObject| {
        object
            .types
            .as_ref()
            .is_some_and(|types| types.kind == kind)
    };
    let found = all.iter().find(is).with_context(|| format!("no {kind}"))?;
    found.data.get("spec").context("no spec")
}

#[tokio::test]
async fn api_server_takes_release_objects_and_rejects_unknown_fields() -> Result<()> {
    let client = plane().await?.client().await?;
    install_all(&client).await?;
    let mut taken = Vec::new();
    for object in shipped()? {
        taken.push(tried(&client, &object).await?);
    }
    assert!(taken.len() > 10, "{}", taken.len());
    let mut misspelt = shipped()?;
    let is_deployment = |object: &&mut Value| object["kind"] == "Deployment";
    let deployment = misspelt.iter_mut().find(is_deployment).context("none")?;
    deployment["spec"]["template"]["spec"]["tolerationz"] = Value::Array(Vec::new());
    let refused = tried(&client, deployment)
        .await
        .err()
        .context("it was taken")?;
    assert!(
        format!("{refused:#}").contains("tolerationz"),
        "{refused:#}"
    );
    Ok(())
}

/// Core exits if no replica answers at its start.
#[tokio::test]
async fn drain_takes_one_of_two_replicas_and_the_service_selects_both() -> Result<()> {
    let client = plane().await?.client().await?;
    install_all(&client).await?;
    let mut taken = Vec::new();
    for object in shipped()? {
        taken.push(tried(&client, &object).await?);
    }
    let deployment = of_kind(&taken, "Deployment")?;
    let budget = of_kind(&taken, "PodDisruptionBudget")?;
    let service = of_kind(&taken, "Service")?;
    assert_eq!(deployment["replicas"], 2);
    assert_eq!(budget["minAvailable"], 1);
    let pods = &deployment["template"]["metadata"]["labels"];
    assert_eq!(&budget["selector"]["matchLabels"], pods);
    assert_eq!(&service["selector"], pods);
    let container = &deployment["template"]["spec"]["containers"][0];
    let port = &service["ports"][0]["targetPort"];
    let ports = container["ports"].as_array().context("no ports")?;
    assert!(ports.iter().any(|one| one["name"] == *port), "{ports:?}");
    Ok(())
}
