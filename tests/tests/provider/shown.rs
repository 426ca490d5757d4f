//! What the process shows about itself: health, metrics, Events.

use anyhow::{Result, ensure};
use careen_tests::management::Management;
use careen_tests::replica::Replica;
use provider::names;
use serde_json::{Value, json};

#[tokio::test]
async fn health_and_metrics_show_the_working_node_and_cordoned_time() -> Result<()> {
    let scene = Management::new("measured").await?;
    let replica = Replica::start(&scene, "one").await?;
    ensure!(replica.get("/healthz").await?.contains("200 OK"));
    ensure!(replica.get("/nothing").await?.contains("404"));
    scene.machine("measured", "measured-0", json!({})).await?;
    scene.ask("measured-0").await?;
    let id = scene.until_asked("measured-0", true).await?;
    scene.agent_works("measured-0", &id, "Trial").await?;
    let bundle = scene.until_trusted(&replica).await?;
    replica.call(&bundle, "Discovery", json!({})).await?;
    let shown = || async {
        let mut values = Vec::new();
        for name in [
            "leader",
            "clusters",
            "nodes_cordoned",
            "upgrades_in_phase{phase=\"Trial\"}",
        ] {
            values.push(replica.metric(name).await?);
        }
        ensure!(values.iter().all(|value| *value == Some(1.0)), "{values:?}");
        let seconds = replica.metric("cordoned_seconds_total").await?;
        ensure!(seconds > Some(0.0), "{seconds:?}");
        let calls = replica
            .metric("hook_replies_total{hook=\"Discovery\",status=\"200\",outcome=\"Discovered\"}")
            .await?;
        ensure!(calls >= Some(1.0), "{calls:?}");
        ensure!(replica.metric("queue_depth").await?.is_some());
        ensure!(replica.metric("look_seconds_count").await? > Some(0.0));
        Ok(())
    };
    scene.until("everything shown", shown).await?;
    scene.agent_fails("measured-0", &id, "CheckFailed").await?;
    scene
        .until_annotated("measured-0", names::SKIP_REMEDIATION, false)
        .await?;
    let counted = || async {
        let ended = replica.metric("upgrades_total{outcome=\"Failed\"}").await?;
        ensure!(ended == Some(1.0), "{ended:?}");
        Ok(())
    };
    scene.until("its end counted", counted).await
}

/// A change that a node cannot make, for a MachineSet of this MachineDeployment.
fn uncovered(space: &str, deployment: &str) -> Value {
    let set = |zone: &str| {
        json!({
            "machineSet": {
                "kind": "MachineSet",
                "metadata": { "name": "w-1", "namespace": space, "labels": { names::DEPLOYMENT_LABEL: deployment } },
                "spec": { "clusterName": space, "template": { "spec": { "version": "v1.35.4", "failureDomain": zone } } },
            },
        })
    };
    json!({ "settings": {}, "current": set("a"), "desired": set("b") })
}

#[tokio::test]
async fn not_in_place_event_is_written_once_for_both_replicas() -> Result<()> {
    let scene = Management::new("told").await?;
    let replicas = [
        Replica::start(&scene, "one").await?,
        Replica::start(&scene, "two").await?,
    ];
    scene.owner("MachineDeployment", "w").await?;
    let hook = "CanUpdateMachineSet/can-update-machineset";
    for replica in &replicas {
        let bundle = scene.until_trusted(replica).await?;
        let replaced = || async {
            let answer = replica.call(&bundle, hook, uncovered("told", "w")).await?;
            ensure!(answer["status"] == "Success", "{answer}");
            Ok(())
        };
        scene.until("it is let go", replaced).await?;
    }
    let note = scene.until_event("w", "NotInPlace").await?;
    assert!(
        note.starts_with("replaced") && note.contains("failureDomain"),
        "{note}"
    );
    let never = json!({ "metadata": { "annotations": { names::NEVER_REPLACE: "true" } } });
    scene.change("MachineDeployment", "w", never).await?;
    for replica in &replicas {
        let bundle = scene.until_trusted(replica).await?;
        let held = || async {
            let answer = replica.call(&bundle, hook, uncovered("told", "w")).await?;
            ensure!(answer["status"] == "Failure", "{answer}");
            Ok(())
        };
        scene.until("it is held", held).await?;
    }
    let twice = || async {
        let notes = scene.events("w", "NotInPlace").await?;
        ensure!(notes.len() == 2, "{notes:?}");
        Ok(())
    };
    scene.until("one Event for each answer", twice).await
}

/// Core may call any replica, and call again during the first call.
#[tokio::test]
async fn repeated_hook_calls_to_both_replicas_make_one_request() -> Result<()> {
    let scene = Management::new("called").await?;
    let replicas = [
        Replica::start(&scene, "one").await?,
        Replica::start(&scene, "two").await?,
    ];
    scene.machine("called", "called-0", json!({})).await?;
    scene.update("called-0").await?;
    let requests = scene.requests_of("called-0").await?;
    let bundle = scene.until_trusted(&replicas[0]).await?;
    scene.until_trusted(&replicas[1]).await?;
    let call = scene.update_call("called-0");
    let hook = "UpdateMachine/update-machine";
    let scheduled = || async {
        let calls = replicas.iter().cycle().take(12);
        let calls = calls.map(|replica| replica.call(&bundle, hook, call.clone()));
        let answers = futures::future::try_join_all(calls).await?;
        let said = |answer: &Value| answer["message"] == "Scheduled, 0 %";
        ensure!(answers.iter().all(said), "{answers:?}");
        scene.until_asked("called-0", true).await
    };
    let id = scene.until("both say so", scheduled).await?;
    assert_eq!(requests.so_far(), [id]);
    Ok(())
}
