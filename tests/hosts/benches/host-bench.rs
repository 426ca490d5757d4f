//! The cost of careen-host on a host that nobody uses, which looks for a claim every 10 s and is
//! therefore the most expensive one. The API server and careen-provider are real. The host is a
//! folder, and its time is played: an hour is its number of turns without the pauses.
//!
//! ```text
//! cargo bench --profile image -p careen-hosts-tests --bench host-bench
//! ```
//!
//! A process of its own runs careen-host's turns and requests, so that its memory is theirs. The
//! code of the test host is in that process as well.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../tests/hosts/hosted.rs"]
#[allow(dead_code, unused_imports)]
mod hosted;

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use careen_host::cluster::Cluster;
use hosts_tests::{Running, Scene, plane};
use infrastructure::{Phase, Policy};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use prepared::settings::Settings;
use prepared::turn::Turns;
use prepared::{Host, OnDisk};
use provider::kinds::CareenHost;
use serde_json::json;

use hosted::rig::Rig;

const SPACE: &str = "measured";
const NAME: &str = "n-1";

/// The turns of a free host in an hour, and the renewals of its Lease.
const TURNS: u64 = 360;
const BEATS: u64 = 180;

/// The pause of a free host, in milliseconds.
const PAUSE: u64 = 10_000;

/// The word before the arguments of the process that is measured.
const MEASURED: &str = "--measured";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    match &arguments[1..] {
        [word, file, kubeconfig] if word == MEASURED => measured(file, kubeconfig),
        // Cargo adds a flag of its own.
        _ => tokio::runtime::Runtime::new()?.block_on(measure()),
    }
}

/// Prepares the management cluster, and starts the process.
async fn measure() -> Result<()> {
    let scene = Scene::new(SPACE).await?;
    let _provider = Running::start(&scene.admin, SPACE, Policy::default()).await?;
    let kubeconfig = plane().await?.admin_kubeconfig();
    scene
        .apply(&json!({
            "apiVersion": "careen.dev/v1alpha1", "kind": "HostRegistration", "metadata": { "name": "rack-a" },
            "spec": { "autoApprove": true },
        }))
        .await?;
    let line = "token --registration rack-a";
    let text = scene
        .until("a token", || hosted::kubectl(&kubeconfig, SPACE, line))
        .await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("host.toml");
    fs::write(&file, text)?;
    let program = std::env::current_exe()?;
    let ended = tokio::task::spawn_blocking(move || {
        let mut command = Command::new(program);
        command.arg(MEASURED).arg(&file).arg(&kubeconfig).status()
    })
    .await??;
    ensure!(ended.success(), "{ended}");
    Ok(())
}

/// The process that is measured.
fn measured(file: &str, kubeconfig: &str) -> Result<()> {
    let began = memory("Rss:")?;
    let mut settings = Settings::read(file.as_ref())?;
    settings.name = Some(NAME.to_owned());
    let mut rig = Rig::new();
    rig.put("/proc/sys/kernel/hostname", NAME);
    let paths = rig.paths.clone();
    let api = Cluster::new(&paths, settings, NAME.to_owned());
    let mut api = api.map_err(anyhow::Error::msg)?;
    let mut turns = Turns::new(Host::new(&paths, &OnDisk), Vec::new());
    let floor = Floor::new(kubeconfig)?;
    let mut looks = 0;
    while !floor.is_available()? {
        ensure!(looks < 600, "the host does not become available");
        looks += 1;
        rig.machine.now += 1000;
        turns.turn(&mut rig.machine, &mut api)?;
        std::thread::sleep(Duration::from_millis(100));
    }
    let before = processor()?;
    for _ in 0..TURNS {
        rig.machine.now += PAUSE;
        turns.turn(&mut rig.machine, &mut api)?;
    }
    let hour = processor()? - before;
    let (resident, own) = (memory("Rss:")?, memory("Anonymous:")?);
    let bare = floor.hour()?;
    println!("careen-host on a free host                          value    target");
    println!("processor, s an hour                           {hour:>10.2}     < 1");
    println!("   floor: the same requests, one connection    {bare:>10.2}");
    println!("memory, resident, MiB                          {resident:>10.1}    ≤ 12");
    println!("   of it its own, the rest its program         {own:>10.1}");
    println!("   floor: the same process when it began       {began:>10.1}");
    Ok(())
}

/// The same requests on one connection that is kept, without anything else.
struct Floor {
    runtime: tokio::runtime::Runtime,
    hosts: Api<CareenHost>,
    leases: Api<Lease>,
}

impl Floor {
    fn new(kubeconfig: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let client = runtime.block_on(async {
            let content = Kubeconfig::read_from(kubeconfig)?;
            let options = KubeConfigOptions::default();
            let config = kube::Config::from_custom_kubeconfig(content, &options).await?;
            anyhow::Ok(Client::try_from(config)?)
        })?;
        Ok(Self {
            runtime,
            hosts: Api::namespaced(client.clone(), SPACE),
            leases: Api::namespaced(client, SPACE),
        })
    }

    fn is_available(&self) -> Result<bool> {
        let host = self.runtime.block_on(self.hosts.get_opt(NAME))?;
        let status = host.and_then(|host| host.status);
        Ok(status.is_some_and(|status| status.phase == Phase::Available))
    }

    /// Seconds of processor for the requests of an hour.
    fn hour(&self) -> Result<f64> {
        let before = processor()?;
        self.runtime.block_on(async {
            for turn in 0..TURNS {
                self.hosts.get(NAME).await?;
                if turn % (TURNS / BEATS) == 0 {
                    let renewed = format!("2026-01-01T00:00:00.{turn:06}Z");
                    let body = Patch::Merge(json!({ "spec": { "renewTime": renewed } }));
                    let name = format!("careen-host-{NAME}");
                    self.leases
                        .patch(&name, &PatchParams::default(), &body)
                        .await?;
                }
            }
            anyhow::Ok(())
        })?;
        Ok(processor()? - before)
    }
}

/// Seconds of processor of this process so far.
fn processor() -> Result<f64> {
    let mut nanoseconds = 0.0;
    for task in fs::read_dir("/proc/self/task")? {
        let text = fs::read_to_string(task?.path().join("schedstat"))?;
        let own: f64 = text.split_whitespace().next().context("empty")?.parse()?;
        nanoseconds += own;
    }
    Ok(nanoseconds / 1e9)
}

/// Memory of this process by the name of a field in its `smaps_rollup`, in MiB.
fn memory(field: &str) -> Result<f64> {
    let text = fs::read_to_string("/proc/self/smaps_rollup")?;
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let kib = line
        .context("no such field")?
        .trim()
        .trim_end_matches(" kB");
    Ok(kib.parse::<f64>()? / 1024.0)
}
