//! careen-host's own requests and decisions, on a host in a folder, from its registration to its
//! second machine. kubeadm, the kubelet and careen-agent are played.

#[path = "../../../../src/prepared/tests/rig/mod.rs"]
mod rig;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use careen_host::cluster::Cluster;
use clap::Parser;
use hosts_tests::{IMAGE, Running, Scene, plane};
use infrastructure::{Phase, Policy};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::api::{Api, DeleteParams};
use kubectl::cli::Cli;
use kubectl::console::Console;
use kubectl::render::Look;
use prepared::settings::Settings;
use prepared::turn::Turns;
use prepared::{Host, OnDisk};
use provider::kinds::policies::REGISTRATIONS;
use provider::kinds::{CareenHost, CareenMachine, HostRegistration};
use serde_json::json;
use upgrade::decide::RecordStore as _;
use upgrade::{Phase as Upgraded, RawRequest, Record, Upgrade};

use rig::{Rig, WORKER};

const SPACE: &str = "program";
const NAME: &str = "n-1";

/// The program of a host, as a thread. Dropping it ends the program between two turns.
struct Program {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<String>>,
}

impl Program {
    fn start(settings: Settings) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || live(settings, &stopped));
        Self {
            stop,
            thread: Some(thread),
        }
    }

    /// Ends it, and returns what kubeadm ran, by claim.
    fn end(mut self) -> String {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Turns until the test ends. The pauses are shorter than a host's.
fn live(settings: Settings, stop: &AtomicBool) -> String {
    let mut rig = Rig::new();
    let before = rig.tree();
    let paths = rig.paths.clone();
    play_agent(&rig, "made", IMAGE);
    let mut api = Cluster::new(&paths, settings, NAME.to_owned()).unwrap();
    let mut turns = Turns::new(Host::new(&paths, &OnDisk), Vec::new());
    let begun = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        rig.machine.now = 60_000 + u64::try_from(begun.elapsed().as_millis()).unwrap();
        turns.turn(&mut rig.machine, &mut api).unwrap();
        answer(&rig);
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(rig.tree(), before, "the host is as it was");
    let runs: Vec<_> = rig.machine.runs.values().collect();
    format!("{runs:?}")
}

/// Answers as careen-agent does when the image runs already.
fn answer(rig: &Rig) {
    let Ok(text) = std::fs::read_to_string(rig.paths.request()) else {
        return;
    };
    let request: RawRequest = serde_json::from_str(&text).unwrap();
    play_agent(rig, &request.id.unwrap(), &request.image.unwrap());
}

fn play_agent(rig: &Rig, id: &str, image: &str) {
    let places = &rig.paths.places;
    let (booted, _) = host::boot::booted(&places.sysroot, &places.root).unwrap();
    let (id, target) = (id.parse().unwrap(), image.parse().unwrap());
    let mut upgrade = Upgrade::new(id, RawRequest::scheduled(image), target, booted.clone());
    (upgrade.phase, upgrade.to) = (Upgraded::Upgraded, Some(booted));
    let mut store = host::record::Store::new(&places.sysroot);
    let last = store.read().map_or(0, |record| record.generation);
    let record = Record {
        upgrade: Some(upgrade),
        generation: last + 1,
        ..Record::default()
    };
    store.store(&record).unwrap();
}

/// Types a command line of `kubectl careen host`, and returns what it prints.
async fn kubectl(line: &str) -> Result<String> {
    let kubeconfig = plane().await?.admin_kubeconfig();
    let start = format!(
        "kubectl-careen --kubeconfig {} host -n {SPACE}",
        kubeconfig.display()
    );
    let words = start.split_whitespace().chain(line.split_whitespace());
    let cli = Cli::try_parse_from(words)?;
    let (mut console, captured) = Console::captured(Look::default(), None);
    kubectl::run(&cli, &mut console).await?;
    Ok(captured.out())
}

/// What a person puts on a host as /etc/careen/host.toml.
async fn settings(scene: &Scene) -> Result<Settings> {
    scene
        .apply(&json!({
            "apiVersion": "careen.dev/v1alpha1", "kind": "HostRegistration", "metadata": { "name": "rack-a" },
            "spec": { "autoApprove": false, "failureDomain": "rack-a" },
        }))
        .await?;
    let text = scene
        .until("the registration has an account", || async {
            kubectl("token --registration rack-a").await
        })
        .await?;
    // Everybody may write in the folder of temporary files itself.
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("host.toml");
    std::fs::write(&file, text)?;
    let mut settings = Settings::read(&file)?;
    settings.name = Some(NAME.to_owned());
    Ok(settings)
}

#[tokio::test]
async fn the_program_registers_and_serves_two_machines() -> Result<()> {
    let scene = Scene::new(SPACE).await?;
    let _provider = Running::start(&scene.admin, SPACE, Policy::default()).await?;
    scene.cluster().await?;
    let program = Program::start(settings(&scene).await?);
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
