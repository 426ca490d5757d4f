//! P5, P6 and P7 of the benchmarks: what the agent costs while it idles, how soon it answers, how often it writes.
//!
//! Prints one JSON line per measurement. The floor of P6 is one PATCH by the same credential over the same wire, measured
//! in the same run; that of P5 is an idle watch and nothing else; that of P7 is one write per phase that a person may see.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use careen_tests::cluster::PATIENCE;
use careen_tests::count::Changes;
use careen_tests::machine::{NEW_IMAGE, OLD_IMAGE};
use careen_tests::node::{TestNode, annotation};
use careen_tests::root;
use careen_tests::scene::Scene;
use futures::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::watcher::{Config, Event, watcher};
use serde_json::{Value, json};
use tokio::sync::watch;
use upgrade::names;

/// How long the idle agent is looked at.
const IDLE: Duration = Duration::from_secs(60);

/// How many requests P6 is taken over.
const REQUESTS: usize = 200;

/// How many upgrades P7 is taken over.
const UPGRADES: usize = 5;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let program = std::env::args_os()
        .nth(1)
        .context("usage: agent-bench PATH-OF-CAREEN-AGENT")?;
    println!("{}", idle(&PathBuf::from(program)).await?);
    println!("{}", prompt().await?);
    println!("{}", writes().await?);
    Ok(())
}

/// P5: the program as images carry it, watching its Node.
async fn idle(program: &Path) -> Result<Value> {
    let node = TestNode::new("bench-idle").await?;
    let root = root::lay_out(node.folder.path())?;
    let agent = Running(start(program, &root, &node.kubeconfig)?);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (cpu, sent) = (cpu_milliseconds(agent.0.id())?, node.wire.sent());
    tokio::time::sleep(IDLE).await;
    let cpu = cpu_milliseconds(agent.0.id())? - cpu;
    let pss = kib(agent.0.id(), "Pss:")?;
    Ok(json!({
        "name": "P5", "pssKiB": pss, "pssAnonymousKiB": kib(agent.0.id(), "Pss_Anon:")?,
        "cpuMillicores": cpu as f64 / IDLE.as_secs_f64(), "bytesSentIdle": node.wire.sent() - sent,
        "seconds": IDLE.as_secs(), "target": { "pssKiB": 8192, "cpuMillicores": 1 },
    }))
}

/// A program that is killed with this one.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(program: &Path, root: &Path, kubeconfig: &Path) -> Result<Child> {
    let mut command = Command::new(program);
    command
        .arg("--root")
        .arg(root)
        .arg("--kubeconfig")
        .arg(kubeconfig);
    command
        .arg("--policy")
        .arg(root.join("policy.toml"))
        .stdin(Stdio::null());
    command
        .spawn()
        .with_context(|| format!("{} does not start", program.display()))
}

fn kib(pid: u32, field: &str) -> Result<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line = text
        .lines()
        .find(|line| line.starts_with(field))
        .context("no such field")?;
    Ok(line
        .split_whitespace()
        .nth(1)
        .context("no value")?
        .parse()?)
}

/// Time on a processor so far. The scheduler counts nanoseconds; clock ticks would hide an agent this idle.
fn cpu_milliseconds(pid: u32) -> Result<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat"))?;
    let nanoseconds: u64 = text.split_whitespace().next().context("empty")?.parse()?;
    Ok(nanoseconds / 1_000_000)
}

/// P6: from the moment the requester's PATCH is sent to the moment its watch shows the agent's answer.
async fn prompt() -> Result<Value> {
    let scene = Scene::new("bench-prompt").await?;
    scene.node.ask_for(OLD_IMAGE).await?;
    scene.node.until_answered("Upgraded").await?;
    let mut seen = statuses(&scene.node);
    let mut times = Vec::new();
    for number in 0..REQUESTS {
        let id = format!("\"request-{number}\"");
        let start = Instant::now();
        scene
            .node
            .annotate(json!({ names::UPGRADE_ID: id.trim_matches('"') }))
            .await?;
        let answered = seen.wait_for(|status| status.contains(&id));
        tokio::time::timeout(PATIENCE, answered)
            .await
            .context("no answer")??;
        times.push(start.elapsed());
    }
    let floor = floor(&scene.node).await?;
    let (median, p99) = (percentile(&mut times, 50), percentile(&mut times, 99));
    Ok(json!({
        "name": "P6", "requests": REQUESTS, "medianMs": median, "p99Ms": p99, "floorTwoPatchesMedianMs": floor,
        "target": { "p99Ms": 100 },
    }))
}

/// The agent's status as one standing watch shows it.
fn statuses(node: &TestNode) -> watch::Receiver<String> {
    let (sender, seen) = watch::channel(String::new());
    let config = Config::default().fields(&format!("metadata.name={}", node.name));
    let nodes = node.nodes();
    tokio::spawn(async move {
        let mut events = std::pin::pin!(watcher(nodes, config));
        while let Some(event) = events.next().await {
            if let Ok(Event::Apply(node) | Event::InitApply(node)) = event {
                sender.send_replace(annotation(&node, names::STATUS).to_owned());
            }
        }
    });
    seen
}

/// Two PATCHes one after the other, as request and answer are.
async fn floor(node: &TestNode) -> Result<f64> {
    let nodes: Api<Node> = Api::all(node.as_kubelet().await?);
    let mut times = Vec::new();
    for number in 0..50 {
        let start = Instant::now();
        for half in 0..2 {
            let body = json!({ "metadata": { "annotations": { "careen.dev/floor": format!("{number}-{half}") } } });
            nodes
                .patch(&node.name, &PatchParams::default(), &Patch::Merge(body))
                .await?;
        }
        times.push(start.elapsed());
    }
    Ok(percentile(&mut times, 50))
}

fn percentile(times: &mut [Duration], percent: usize) -> f64 {
    times.sort();
    let at = (times.len() * percent).div_ceil(100).saturating_sub(1);
    times
        .get(at)
        .map_or(0.0, |time| time.as_secs_f64() * 1000.0)
}

/// P7: writes to the Node by one upgrade of an empty node, Events apart.
async fn writes() -> Result<Value> {
    let mut counts = Vec::new();
    for _ in 0..UPGRADES {
        let mut scene = Scene::new("bench-writes").await?;
        let changes = Changes::of(&scene.node);
        scene.node.ask_for(NEW_IMAGE).await?;
        scene.reboot().await?;
        scene.node.until_answered("Upgraded").await?;
        counts.push(changes.stop(&scene.node).await?);
    }
    Ok(json!({ "name": "P7", "writes": counts, "target": { "writes": 12 } }))
}
