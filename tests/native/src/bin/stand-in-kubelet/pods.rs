//! Makes the running processes follow the manifests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use k8s_openapi::jiff::Timestamp;

use crate::manifests::Manifest;
use crate::process::{self, Process};

/// How long a pod stays away that ended by itself. A kubelet waits longer with each restart.
const PAUSE: Duration = Duration::from_secs(2);

/// All static pods of this node.
#[derive(Debug)]
pub struct Pods {
    images: PathBuf,
    pods: BTreeMap<String, Running>,
}

/// A wanted pod, whose process runs or starts again soon.
#[derive(Debug)]
struct Running {
    manifest: Manifest,
    process: Option<Process>,
    since: Timestamp,
    ended: Option<Instant>,
    restarts: i32,
}

/// What the API server is told of one pod.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The name in the manifest.
    pub name: String,
    /// What runs.
    pub manifest: Manifest,
    /// Whether its process runs.
    pub runs: bool,
    /// Since when it does, or does not.
    pub since: Timestamp,
    /// How often it was restarted.
    pub restarts: i32,
}

impl Pods {
    /// Nothing runs yet, or what an earlier stand-in has left.
    pub fn new(images: PathBuf) -> Self {
        Self {
            images,
            pods: BTreeMap::new(),
        }
    }

    /// Stops what is not wanted any more or has changed, and starts what is wanted and does not
    /// run.
    pub async fn look(&mut self, wanted: &BTreeMap<String, Manifest>) {
        let unchanged = |name: &str, digest: &str| {
            wanted
                .get(name)
                .is_some_and(|manifest| manifest.digest == digest)
        };
        for name in process::noted() {
            let known = self
                .pods
                .get_mut(&name)
                .and_then(|pod| pod.process.as_mut());
            match known {
                Some(process) => {
                    stop_unless(unchanged(&name, &process.note.digest), process, &name).await
                }
                None => {
                    if let Some(mut left) = Process::left(&name) {
                        stop_unless(unchanged(&name, &left.note.digest), &mut left, &name).await;
                    }
                }
            }
        }
        self.pods
            .retain(|name, pod| unchanged(name, &pod.manifest.digest));
        for (name, manifest) in wanted {
            let pod = self.pods.entry(name.clone());
            let pod = pod.or_insert_with(|| Running::of(name, manifest));
            pod.tend(&self.images, name);
        }
    }

    /// All pods, for the API server.
    pub fn shown(&self) -> Vec<Shown> {
        let shown = |(name, pod): (&String, &Running)| Shown {
            name: name.clone(),
            manifest: pod.manifest.clone(),
            runs: pod.ended.is_none(),
            since: pod.since,
            restarts: pod.restarts,
        };
        self.pods.iter().map(shown).collect()
    }
}

async fn stop_unless(is_wanted: bool, process: &mut Process, name: &str) {
    if !is_wanted {
        println!("stop {name}, pid {}", process.note.pid);
        process.stop(name).await;
    }
}

impl Running {
    /// Takes over what an earlier stand-in has left running.
    fn of(name: &str, manifest: &Manifest) -> Self {
        let process = Process::left(name);
        Self {
            manifest: manifest.clone(),
            restarts: process.as_ref().map_or(0, |process| process.note.restarts),
            process,
            since: Timestamp::now(),
            ended: None,
        }
    }

    /// Starts it unless it runs or ended a moment ago.
    fn tend(&mut self, images: &Path, name: &str) {
        if self.process.as_mut().is_some_and(Process::runs) {
            return;
        }
        if self.process.is_some() && self.ended.is_none() {
            println!("ended {name}");
            self.end();
        }
        if self.ended.is_none_or(|ended| ended.elapsed() > PAUSE) {
            self.start(images, name).unwrap_or_else(|error| {
                eprintln!("{name} does not start: {error:#}");
                self.end();
            });
        }
    }

    fn end(&mut self) {
        self.ended = Some(Instant::now());
        self.since = Timestamp::now();
    }

    fn start(&mut self, images: &Path, name: &str) -> Result<()> {
        let container = self.manifest.container().context("no container")?;
        let restarts = self.restarts + i32::from(self.process.is_some());
        let process = Process::start(images, name, container, &self.manifest.digest, restarts)?;
        println!("start {name}, pid {}", process.note.pid);
        self.process = Some(process);
        self.restarts = restarts;
        self.ended = None;
        self.since = Timestamp::now();
        Ok(())
    }
}
