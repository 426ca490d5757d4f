//! The drain of an orphan whose pods have volumes. Nothing here attaches or detaches one: the test
//! does it.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use hosts_tests::{Running, Scene};
use infrastructure::{Policy, Wanted};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use provider::kinds::CareenHost;
use serde_json::json;
use testkit::cluster_api::objects;

use crate::orphans::{claim, joined, node, policy, remove_machine, seen, until};
use crate::workload;

/// Longer than the pause between two looks at the pods.
const LOOK: Duration = Duration::from_secs(25);

const HOST: &str = "volumes-0";

/// A pod on the node, with a volume that is attached there.
async fn pod(scene: &Scene, name: &str) -> Result<()> {
    let claim = json!({ "claimName": name });
    let requests = json!({ "requests": { "storage": "1Gi" } });
    scene
        .apply(&json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": name },
            "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": requests, "storageClassName": "",
                "volumeName": volume(name),
            },
        }))
        .await?;
    scene
        .apply(&json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
            "spec": {
                "nodeName": HOST, "terminationGracePeriodSeconds": 0,
                "containers": [{ "name": "c", "image": "i" }],
                "volumes": [{ "name": "data", "persistentVolumeClaim": claim }],
            },
        }))
        .await?;
    attach(scene, name, HOST).await
}

fn volume(claim: &str) -> String {
    format!("orphans-volumes-{claim}")
}

fn attachment(claim: &str, node: &str) -> String {
    format!("{}-{node}", volume(claim))
}

async fn attach(scene: &Scene, claim: &str, node: &str) -> Result<()> {
    let name = attachment(claim, node);
    objects::apply(
        &scene.admin,
        &json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
            "metadata": { "name": name },
            "spec": {
                "attacher": "test.careen.dev", "nodeName": node,
                "source": { "persistentVolumeName": volume(claim) },
            },
        }),
    )
    .await?;
    let all: Api<VolumeAttachment> = Api::all(scene.admin.clone());
    let attached = Patch::Merge(json!({ "status": { "attached": true } }));
    all.patch_status(&name, &PatchParams::default(), &attached)
        .await?;
    Ok(())
}

async fn detach(scene: &Scene, claim: &str) -> Result<()> {
    let all: Api<VolumeAttachment> = Api::all(scene.admin.clone());
    let name = attachment(claim, HOST);
    all.delete(&name, &DeleteParams::default()).await?;
    Ok(())
}

#[tokio::test]
async fn pods_with_volumes_leave_an_orphan_one_by_one() -> Result<()> {
    let scene = Scene::new("orphans-volumes").await?;
    let (host, first, id) = joined(&scene, HOST).await?;
    drop(first);
    node(&scene, HOST, &id).await?;
    for name in ["db-0", "db-1"] {
        pod(&scene, name).await?;
    }
    workload::reachable(&scene).await?;
    remove_machine(&scene).await?;
    let alone = Policy {
        release_orphans: true,
        ..policy()
    };
    let _second = Running::start(&scene.admin, &scene.space, alone).await?;
    let left = async |pods: &[&str]| {
        let look = || async {
            let (there, _) = seen(&scene, HOST).await?;
            ensure!(there == pods, "{there:?}");
            Ok(())
        };
        let alive = |_: &CareenHost| true;
        until(&scene, &host, "the host answers", alive).await?;
        scene.until("pods have left", look).await
    };
    left(&["daemon", "db-1"]).await?;
    let began = Instant::now();
    while began.elapsed() < LOOK {
        until(&scene, &host, "the host answers", |_| true).await?;
        let (there, _) = seen(&scene, HOST).await?;
        assert_eq!(there, ["daemon", "db-1"], "the volume of db-0 is attached");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    detach(&scene, "db-0").await?;
    attach(&scene, "db-0", "another-node").await?;
    left(&["daemon"]).await?;
    let hosts: Api<CareenHost> = scene.all();
    let wanted = claim(&hosts.get(HOST).await?)?.wanted;
    assert_eq!(wanted, Wanted::Joined, "the volume of db-1 is attached");
    detach(&scene, "db-1").await?;
    let free = |object: &CareenHost| object.spec.claim.is_none();
    until(&scene, &host, "it has left", free).await?;
    Ok(())
}
