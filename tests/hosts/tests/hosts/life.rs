//! A host from its registration to its second machine, with its own token.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hosts_tests::{Played, Running, Scene, client_of, plane};
use infrastructure::{Phase, Policy};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ListParams, PostParams};
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use provider::kinds::policies::{OF_A_HOST, REGISTRATIONS};
use provider::kinds::{CareenHost, CareenMachine, HostRegistration};
use serde_json::json;
use testkit::cluster_api::objects;

const HANDOVER: &str = "0123456789abcdef0123456789abcdef";

/// The host registers with the token of its registration, and gets its own.
pub async fn registered(scene: &Scene, name: &str, handover: &str) -> Result<Client> {
    let space = scene.space.as_str();
    scene
        .apply(&json!({
            "apiVersion": "careen.dev/v1alpha1", "kind": "HostRegistration", "metadata": { "name": "rack-a" },
            "spec": { "autoApprove": true, "labels": { "site": "north" }, "failureDomain": "rack-a" },
        }))
        .await?;
    let account = format!("{space}.rack-a");
    objects::apply(&scene.admin, &json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": account, "namespace": REGISTRATIONS },
    }))
    .await?;
    let registration = client_of(&scene.admin, REGISTRATIONS, &account).await?;
    let hosts: Api<CareenHost> = Api::namespaced(registration.clone(), space);
    let own: CareenHost = serde_json::from_value(json!({
        "apiVersion": "careen.dev/v1alpha1", "kind": "CareenHost", "metadata": { "name": name },
        "spec": { "registration": "rack-a", "handover": handover },
    }))?;
    scene
        .until("it may register", || async {
            match hosts.create(&PostParams::default(), &own).await {
                Ok(_) => Ok(()),
                Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
                Err(error) => Err(error.into()),
            }
        })
        .await?;
    let secrets: Api<Secret> = Api::namespaced(registration, REGISTRATIONS);
    let token = scene
        .until("its first token is there", || async {
            let secret = secrets.get(handover).await?;
            let data = secret.data.unwrap_or_default();
            let token = data.get("token").context("no token")?;
            Ok(String::from_utf8(token.0.clone())?)
        })
        .await?;
    client(&token).await
}

async fn client(token: &str) -> Result<Client> {
    let mut content = Kubeconfig::read_from(plane().await?.admin_kubeconfig())?;
    for user in &mut content.auth_infos {
        user.auth_info = Some(AuthInfo {
            token: Some(token.to_owned().into()),
            ..AuthInfo::default()
        });
    }
    let config = Config::from_custom_kubeconfig(content, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

#[tokio::test]
async fn host_registers_serves_a_machine_and_serves_the_next() -> Result<()> {
    let scene = Scene::new("life").await?;
    let _provider = Running::start(&scene.admin, "life", Policy::default()).await?;
    scene.cluster().await?;
    let own = registered(&scene, "n-1", HANDOVER).await?;
    let mut host = Played::new(own, "life", "n-1");
    scene
        .until("it has a Lease", || async { host.renew().await })
        .await?;
    host.say().await?;
    let hosts: Api<CareenHost> = scene.all();
    let object = hosts.get("n-1").await?;
    assert_eq!(object.spec.failure_domain.as_deref(), Some("rack-a"));
    assert_eq!(
        object
            .metadata
            .labels
            .unwrap_or_default()
            .get("site")
            .map(String::as_str),
        Some("north")
    );
    let mut ids = Vec::new();
    for name in ["m-1", "m-2"] {
        scene.machine(name).await?;
        ids.push(until_provisioned(&scene, &mut host, name).await?);
        let machines: Api<CareenMachine> = scene.all();
        let domain = machines.get(name).await?.status.unwrap_or_default();
        assert_eq!(domain.failure_domain.as_deref(), Some("rack-a"));
        assert_eq!(
            held(&scene).await?,
            None,
            "the data are removed after the join"
        );
        scene.delete_machine(name).await?;
        until_gone(&scene, &mut host, name).await?;
    }
    assert_eq!(host.ran, ["#cloud-config m-1", "#cloud-config m-2"]);
    assert_ne!(ids[0], ids[1]);
    let handovers: Api<Secret> = Api::namespaced(scene.admin.clone(), REGISTRATIONS);
    ensure!(
        handovers.get_opt(HANDOVER).await?.is_none(),
        "the first token is still there"
    );
    let handover = hosts.get("n-1").await?.spec.handover;
    assert_eq!(handover.as_deref(), Some(HANDOVER), "for the next token");
    Ok(())
}

/// The host serves `a`, then `b`, then `a` again.
#[tokio::test]
async fn host_serves_one_cluster_after_the_other_by_another_id() -> Result<()> {
    let scene = Scene::new("in-turn").await?;
    let _provider = Running::start(&scene.admin, "in-turn", Policy::default()).await?;
    for name in ["a", "b"] {
        scene.cluster_named(name).await?;
    }
    scene.host("n-1").await?;
    let mut host = Played::new(scene.admin.clone(), "in-turn", "n-1");
    let hosts: Api<CareenHost> = scene.all();
    let mut ids = Vec::new();
    for (cluster, name) in [("a", "m-1"), ("b", "m-2"), ("a", "m-3")] {
        let text = format!("#cloud-config {cluster}");
        scene.machine_of(cluster, name, &text).await?;
        ids.push(until_provisioned(&scene, &mut host, name).await?);
        let claim = hosts.get("n-1").await?.spec.claim.context("no claim")?;
        assert_eq!(claim.cluster, cluster);
        scene.delete_machine(name).await?;
        until_gone(&scene, &mut host, name).await?;
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3, "no id comes twice: {ids:?}");
    let [a, b] = ["#cloud-config a", "#cloud-config b"];
    assert_eq!(host.ran, [a, b, a]);
    Ok(())
}

/// All hosts are there before careen-provider starts, so that it looks at several of them at once.
#[tokio::test]
async fn registration_lets_in_no_more_than_its_most_at_once() -> Result<()> {
    let scene = Scene::new("most").await?;
    scene
        .apply(&json!({
            "apiVersion": "careen.dev/v1alpha1", "kind": "HostRegistration", "metadata": { "name": "rack-a" },
            "spec": { "autoApprove": true, "maxHosts": 2 },
        }))
        .await?;
    for at in 0..16 {
        scene
            .apply(&json!({
                "apiVersion": "careen.dev/v1alpha1", "kind": "CareenHost",
                "metadata": { "name": format!("n-{at}") },
                "spec": { "registration": "rack-a", "handover": format!("{at:032x}") },
            }))
            .await?;
    }
    let _provider = Running::start(&scene.admin, "most", Policy::default()).await?;
    let hosts: Api<CareenHost> = scene.all();
    let let_in = || async {
        let all = hosts.list(&ListParams::default()).await?;
        let approved = all.iter().filter(|host| host.spec.approved).count();
        anyhow::Ok(approved)
    };
    let registrations: Api<HostRegistration> = scene.all();
    scene
        .until("the hosts are counted", || async {
            let status = registrations.get("rack-a").await?.status;
            let status = status.unwrap_or_default();
            ensure!(
                status.registered == 16 && status.approved >= 2,
                "{status:?}"
            );
            Ok(())
        })
        .await?;
    // Each host was looked at, and looked at again after a conflict.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(let_in().await?, 2);
    Ok(())
}

/// The claim of the data in the host's Secret.
async fn held(scene: &Scene) -> Result<Option<String>> {
    let secrets: Api<Secret> = scene.all();
    let secret = secrets.get(&format!("{OF_A_HOST}n-1")).await?;
    let data = secret.data.unwrap_or_default();
    Ok(data
        .get("value")
        .map(|value| String::from_utf8_lossy(&value.0).into_owned()))
}

async fn until_provisioned(scene: &Scene, host: &mut Played, name: &str) -> Result<String> {
    let machines: Api<CareenMachine> = scene.all();
    let host = tokio::sync::Mutex::new(host);
    scene
        .until("the machine is provisioned", || async {
            host.lock().await.renew().await?;
            host.lock().await.step().await?;
            let machine = machines.get(name).await?;
            let status = machine.status.unwrap_or_default();
            let done = status.initialization.and_then(|one| one.provisioned) == Some(true);
            let said: Vec<String> = status
                .conditions
                .iter()
                .map(|one| format!("{}={} {}", one.kind, one.status, one.message))
                .collect();
            ensure!(done, "{:?} {said:?}", machine.spec.host_ref);
            machine.spec.provider_id.context("no provider id")
        })
        .await
}

/// The finalizer stays until the host is fenced, and the claim until the host is clean.
async fn until_gone(scene: &Scene, host: &mut Played, name: &str) -> Result<()> {
    let hosts: Api<CareenHost> = scene.all();
    let host = tokio::sync::Mutex::new(host);
    scene
        .until("the host is free", || async {
            let before = hosts.get("n-1").await?.status.unwrap_or_default();
            if before.phase == Phase::Joined {
                ensure!(
                    scene.is_held(name).await?,
                    "the finalizer went before the fence"
                );
            }
            host.lock().await.renew().await?;
            host.lock().await.step().await?;
            let object = hosts.get("n-1").await?;
            ensure!(
                object.spec.claim.is_none(),
                "{:?}",
                object.status.map(|one| one.phase)
            );
            Ok(())
        })
        .await?;
    ensure!(!scene.is_held(name).await?);
    // It shows that it has seen that its claim is gone.
    host.lock().await.step().await
}
