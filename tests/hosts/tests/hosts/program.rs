//! careen-host from its registration to its second machine.

use anyhow::{Context, Result, ensure};
use hosts_tests::{Running, Scene, plane};
use infrastructure::{Phase, Policy};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::api::{Api, DeleteParams};
use prepared::settings::Settings;
use provider::kinds::policies::REGISTRATIONS;
use provider::kinds::{CareenHost, CareenMachine, HostRegistration};
use serde_json::json;

use crate::hosted::rig::WORKER;
use crate::hosted::{self, Program};
use crate::refusing;

const SPACE: &str = "program";
const NAME: &str = "n-1";

async fn kubectl(line: &str) -> Result<String> {
    hosted::kubectl(&plane().await?.admin_kubeconfig(), SPACE, line).await
}

async fn token(space: &str) -> Result<String> {
    let kubeconfig = plane().await?.admin_kubeconfig();
    hosted::kubectl(&kubeconfig, space, "token --registration rack-a").await
}

/// What a person puts on a host as /etc/careen/host.toml.
async fn settings(scene: &Scene, auto_approve: bool) -> Result<Settings> {
    scene
        .apply(&json!({
            "apiVersion": "careen.dev/v1alpha1", "kind": "HostRegistration", "metadata": { "name": "rack-a" },
            "spec": { "autoApprove": auto_approve, "failureDomain": "rack-a" },
        }))
        .await?;
    let text = scene
        .until("the registration has an account", || token(&scene.space))
        .await?;
    hosted::settings(&text, NAME)
}

#[tokio::test]
async fn the_program_registers_and_serves_two_machines() -> Result<()> {
    let scene = Scene::new(SPACE).await?;
    let _provider = Running::start(&scene.admin, SPACE, Policy::default()).await?;
    scene.cluster().await?;
    let program = Program::start(settings(&scene, false).await?);
    let hosts: Api<CareenHost> = scene.all();
    scene
        .until("the host has registered", || async {
            ensure!(!hosts.get(NAME).await?.spec.approved);
            Ok(())
        })
        .await?;
    let listed = kubectl("list").await?;
    ensure!(
        listed.contains("kubectl careen host approve n-1"),
        "{listed}"
    );
    kubectl("approve n-1").await?;
    kubectl("cordon n-1").await?;
    ensure!(hosts.get(NAME).await?.spec.cordoned);
    kubectl("uncordon n-1").await?;
    let released = kubectl("release n-1 --yes").await;
    ensure!(released.is_err(), "it has no claim: {released:?}");
    for name in ["m-1", "m-2"] {
        scene.machine_with(name, WORKER).await?;
        let id = until_provisioned(&scene, name).await?;
        let secrets: Api<Secret> = scene.all();
        let secret = secrets.get(&format!("careen-host-{NAME}")).await?;
        ensure!(
            secret.data.unwrap_or_default().is_empty(),
            "the data are removed after the join"
        );
        ensure!(id.starts_with(&format!("careen://{SPACE}/{NAME}/")), "{id}");
        scene.delete_machine(name).await?;
        until_free(&scene, name).await?;
    }
    assert_eq!(program.end(), "[1, 1]", "each claim's data ran once");
    registration_goes(&scene).await
}

/// The host is off for a day. Meanwhile its machine is deleted, and careen-provider restarts.
#[tokio::test]
async fn host_whose_token_ran_out_comes_back_with_a_fresh_file() -> Result<()> {
    let scene = Scene::new("returned").await?;
    let policy = Policy {
        alive: 5,
        ..Policy::default()
    };
    let provider = Running::start(&scene.admin, "returned", policy.clone()).await?;
    scene.cluster().await?;
    let program = Program::start(settings(&scene, true).await?);
    scene.machine_with("m-1", WORKER).await?;
    until_provisioned(&scene, "m-1").await?;
    program.off();
    drop(provider);
    let secret = hosts_secret(&scene).await?;
    let handovers: Api<Secret> = Api::namespaced(scene.admin.clone(), REGISTRATIONS);
    ensure!(
        handovers.get_opt(&secret).await?.is_none(),
        "a host that is heard"
    );
    heard_a_day_ago(&scene).await?;

    let _provider = Running::start(&scene.admin, "returned", policy).await?;
    scene.delete_machine("m-1").await?;
    scene
        .until("a token is handed over", || async {
            handovers.get(&secret).await.map(drop).map_err(Into::into)
        })
        .await?;
    program.on(hosted::settings(&token("returned").await?, NAME)?);
    until_free(&scene, "m-1").await?;
    scene
        .until("the token is taken", || async {
            ensure!(handovers.get_opt(&secret).await?.is_none());
            Ok(())
        })
        .await?;
    assert_eq!(hosts_secret(&scene).await?, secret);
    assert_eq!(program.end(), "[1]", "the data ran once");
    Ok(())
}

/// The name of the Secret in which the host looks for a token.
async fn hosts_secret(scene: &Scene) -> Result<String> {
    let hosts: Api<CareenHost> = scene.all();
    let host = hosts.get(NAME).await?;
    host.spec.handover.context("the host looks for no token")
}

async fn heard_a_day_ago(scene: &Scene) -> Result<()> {
    let day_ago = Timestamp::now() - SignedDuration::from_hours(24);
    let renewed = json!({ "spec": { "renewTime": format!("{day_ago:.6}") } });
    let name = format!("careen-host-{NAME}");
    scene.change::<Lease>(&name, renewed).await.map(drop)
}

/// A kube-apiserver answers 401 when it cannot look up an account, for example while it starts.
#[tokio::test]
async fn one_unauthorized_answer_does_not_end_the_reading() -> Result<()> {
    let scene = Scene::new("unauthorized").await?;
    let _provider = Running::start(&scene.admin, "unauthorized", Policy::default()).await?;
    let file = settings(&scene, true).await?;
    let heard = std::thread::spawn(move || refusing::heard(file))
        .join()
        .unwrap();
    let told = "Some(Released)";
    assert_eq!(heard, ["None", "refused", told, "refused", "refused", told]);
    Ok(())
}

/// Somebody has copied the file to another machine, which has the same host name.
#[tokio::test]
async fn another_machine_with_the_name_of_a_host_stays_out() -> Result<()> {
    let scene = Scene::new("impostor").await?;
    let _provider = Running::start(&scene.admin, "impostor", Policy::default()).await?;
    scene.cluster().await?;
    let file = settings(&scene, true).await?;
    let program = Program::start(file.clone());
    scene.machine_with("m-1", WORKER).await?;
    until_provisioned(&scene, "m-1").await?;
    let told = std::thread::spawn(move || refusing::turned_away(file))
        .join()
        .unwrap();
    ensure!(told.contains("another host has its name"), "{told}");
    let hosts: Api<CareenHost> = scene.all();
    let phase = hosts.get(NAME).await?.status.unwrap_or_default().phase;
    assert_eq!(phase, Phase::Joined, "it is served as before");
    scene.delete_machine("m-1").await?;
    until_free(&scene, "m-1").await?;
    assert_eq!(program.end(), "[1]", "its data ran once");
    Ok(())
}

async fn until_provisioned(scene: &Scene, name: &str) -> Result<String> {
    let machines: Api<CareenMachine> = scene.all();
    let hosts: Api<CareenHost> = scene.all();
    scene
        .until("the machine is provisioned", || async {
            let machine = machines.get(name).await?;
            let status = machine.status.unwrap_or_default();
            let done = status.initialization.and_then(|one| one.provisioned) == Some(true);
            let host = hosts.get(NAME).await?.status.unwrap_or_default();
            ensure!(done, "{:?} {host:?}", status.conditions);
            machine.spec.provider_id.context("no provider id")
        })
        .await
}

async fn until_free(scene: &Scene, name: &str) -> Result<()> {
    let hosts: Api<CareenHost> = scene.all();
    scene
        .until("the host is free", || async {
            let host = hosts.get(NAME).await?;
            let status = host.status.unwrap_or_default();
            if status.phase == Phase::Joined {
                ensure!(
                    scene.is_held(name).await?,
                    "the finalizer went before the fence"
                );
            }
            ensure!(host.spec.claim.is_none(), "{:?}", status.phase);
            ensure!(status.phase == Phase::Available, "{status:?}");
            Ok(())
        })
        .await
}

/// The registration counts its hosts, and takes its account with it.
async fn registration_goes(scene: &Scene) -> Result<()> {
    let all: Api<HostRegistration> = scene.all();
    scene
        .until("the hosts are counted", || async {
            let status = all.get("rack-a").await?.status.unwrap_or_default();
            ensure!((status.registered, status.approved) == (1, 1), "{status:?}");
            Ok(())
        })
        .await?;
    all.delete("rack-a", &DeleteParams::default()).await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(scene.admin.clone(), REGISTRATIONS);
    let account = format!("{}.rack-a", scene.space);
    scene
        .until("registration and account are gone", || async {
            ensure!(all.get_opt("rack-a").await?.is_none());
            ensure!(accounts.get_opt(&account).await?.is_none());
            Ok(())
        })
        .await
}
