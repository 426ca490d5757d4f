//! What the API server accepts of our kinds from any writer.

use anyhow::{Context, Result};
use hosts_tests::{IMAGE, Scene, status};
use infrastructure::Phase;
use provider::kinds::{CareenHost, CareenMachine, CareenMachineTemplate};
use serde_json::{Value, json};

const ID: &str = "00000000000000aa";
const OTHER: &str = "00000000000000bb";

fn claim(id: &str) -> Value {
    json!({ "id": id, "machine": "m", "cluster": "c", "providerID": format!("careen://x/h/{id}"), "wanted": "Joined" })
}

/// The refusal of a change of a host, or nothing.
async fn host(scene: &Scene, change: Value) -> Option<String> {
    let changed = scene.change::<CareenHost>("h", change).await;
    changed.err().map(|error| format!("{error:#}"))
}

async fn machine(scene: &Scene, spec: Value) -> Option<String> {
    let changed = scene
        .change::<CareenMachine>("m", json!({ "spec": spec }))
        .await;
    changed.err().map(|error| format!("{error:#}"))
}

fn because(refused: Option<String>, words: &str) -> Result<()> {
    let refused = refused.with_context(|| format!("accepted: {words}"))?;
    anyhow::ensure!(refused.contains(words), "{refused}");
    Ok(())
}

#[tokio::test]
async fn claim_comes_and_goes_but_never_becomes_another_ones() -> Result<()> {
    let scene = Scene::new("kinds-claim").await?;
    scene.host("h").await?;
    let spec = |claim: Value| json!({ "spec": { "claim": claim } });
    let mut bad = claim(ID);
    bad["id"] = json!("short");
    anyhow::ensure!(host(&scene, spec(bad)).await.is_some());
    assert_eq!(host(&scene, spec(claim(ID))).await, None);
    because(
        host(&scene, spec(claim(OTHER))).await,
        "cannot become another's",
    )?;
    because(
        host(&scene, spec(Value::Null)).await,
        "can be removed only when",
    )?;
    assert_eq!(
        host(&scene, spec(json!({ "wanted": "Released" }))).await,
        None
    );
    because(
        host(&scene, spec(json!({ "wanted": "Joined" }))).await,
        "cannot go back",
    )?;
    because(
        host(&scene, spec(json!({ "bootstrapHash": "f" }))).await,
        "cannot be set",
    )?;
    for phase in [
        Phase::Registered,
        Phase::Joined,
        Phase::Cleaning,
        Phase::Quarantined,
    ] {
        scene.say("h", &status(phase, Some(ID))).await?;
        because(
            host(&scene, spec(Value::Null)).await,
            "can be removed only when",
        )?;
    }
    scene
        .say("h", &status(Phase::Available, Some(OTHER)))
        .await?;
    because(
        host(&scene, spec(Value::Null)).await,
        "can be removed only when",
    )?;
    scene.say("h", &status(Phase::Available, Some(ID))).await?;
    assert_eq!(host(&scene, spec(Value::Null)).await, None);
    because(
        host(&scene, json!({ "spec": { "registration": "rack-b" } })).await,
        "registration",
    )
}

#[tokio::test]
async fn machine_keeps_what_it_asks_of_its_host() -> Result<()> {
    let scene = Scene::new("kinds-machine").await?;
    scene
        .apply(&json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1", "kind": "CareenMachine",
            "metadata": { "name": "m" },
            "spec": { "osImage": IMAGE, "hostSelector": { "matchLabels": { "a": "b" } }, "minimum": { "cpu": "8" } },
        }))
        .await?;
    assert_eq!(
        machine(&scene, json!({ "osImage": "other" })).await,
        None,
        "in place"
    );
    because(
        machine(&scene, json!({ "hostSelector": null })).await,
        "hostSelector",
    )?;
    because(
        machine(
            &scene,
            json!({ "hostSelector": { "matchLabels": { "a": "c" } } }),
        )
        .await,
        "hostSelector",
    )?;
    because(
        machine(&scene, json!({ "minimum": { "cpu": "4" } })).await,
        "minimum",
    )?;
    because(
        machine(&scene, json!({ "hostName": "h" })).await,
        "hostName",
    )?;
    because(
        machine(&scene, json!({ "release": "Keep" })).await,
        "release",
    )?;
    let named = |name: &str, committed: bool| json!({ "hostRef": { "name": name, "claim": ID, "since": 1, "committed": committed } });
    assert_eq!(machine(&scene, named("h", false)).await, None);
    because(machine(&scene, named("i", false)).await, "another host's")?;
    assert_eq!(machine(&scene, json!({ "hostRef": null })).await, None);
    assert_eq!(machine(&scene, named("i", true)).await, None);
    because(
        machine(&scene, json!({ "hostRef": null })).await,
        "cannot be changed any more",
    )?;
    because(
        machine(&scene, named("i", false)).await,
        "cannot be changed any more",
    )?;
    assert_eq!(
        machine(&scene, json!({ "providerID": "careen://x" })).await,
        None
    );
    because(
        machine(&scene, json!({ "providerID": "careen://y" })).await,
        "providerID",
    )
}

#[tokio::test]
async fn template_changes_only_in_the_dry_run_of_a_class() -> Result<()> {
    let scene = Scene::new("kinds-template").await?;
    let template = |host: &str| {
        json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1", "kind": "CareenMachineTemplate",
            "metadata": { "name": "t", "annotations": { "topology.cluster.x-k8s.io/dry-run": "" } },
            "spec": { "template": { "spec": { "hostName": host } } },
        })
    };
    scene.apply(&template("a")).await?;
    let refused = scene
        .apply(&template("b"))
        .await
        .err()
        .map(|error| format!("{error:#}"));
    because(refused, "a template cannot be changed")?;
    let params = kube::api::PatchParams {
        dry_run: true,
        ..kube::api::PatchParams::default()
    };
    let body =
        kube::api::Patch::Merge(json!({ "spec": { "template": { "spec": { "hostName": "b" } } } }));
    let all: kube::Api<CareenMachineTemplate> = scene.all();
    all.patch("t", &params, &body).await?;
    scene
        .change::<CareenMachineTemplate>("t", json!({ "metadata": { "annotations": null } }))
        .await?;
    let refused = all
        .patch("t", &params, &body)
        .await
        .err()
        .map(|error| error.to_string());
    because(refused, "a template cannot be changed")
}
