//! Takes a node through one upgrade without a power cut, and keeps the recording.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, ResourceExt};
use rig::images::DiskKind;
use rig::node::{NAME, View};
use rig::overlay::save_base;
use rig::progress::Progress;
use rig::writes::Log;
use rig::{Rig, UPGRADE};
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use upgrade::names::{self, Kind};

use super::marks::marks;
use super::place::Recorded;
use super::recording::{Moment, Recording, System};
use super::way::Way;

/// The files of a recording.
#[derive(Debug, Clone)]
pub struct Files {
    /// The disk as it was when the node joined.
    pub base: PathBuf,
    /// All writes and flushes.
    pub log: PathBuf,
    said: PathBuf,
}

impl Files {
    /// The files in this folder.
    #[must_use]
    pub fn in_folder(dir: &Path) -> Self {
        Self {
            base: dir.join("base.raw"),
            log: dir.join("writes.log"),
            said: dir.join("recording.json"),
        }
    }

    /// Removes them, the closing file of the recording first.
    ///
    /// # Errors
    ///
    /// Fails when one cannot be removed.
    pub fn remove(&self) -> Result<()> {
        for file in [&self.said, &self.log, &self.base] {
            if file.exists() {
                fs::remove_file(file).with_context(|| file.display().to_string())?;
            }
        }
        Ok(())
    }

    /// Reads a recording.
    ///
    /// # Errors
    ///
    /// Fails when there is no complete recording.
    pub fn read(&self, way: Way) -> Result<Recorded> {
        let text = fs::read(&self.said).context("no recording of an upgrade")?;
        let mut log = Log::open(&self.log)?;
        log.read_on()?;
        Ok(Recorded {
            way,
            recording: serde_json::from_slice(&text)?,
            marks: marks(&log)?,
            log,
        })
    }
}

/// Takes a node this way and keeps everything in `dir`.
///
/// # Errors
///
/// Fails when it ends in an unexpected way. The files that a person needs are then in `dir`.
pub async fn record(way: Way, dir: &Path) -> Result<()> {
    let node = dir.join("node");
    fs::create_dir_all(dir)?;
    let files = Files::in_folder(dir);
    files.remove()?;
    let progress = Progress::new(&format!("soak, recording of {way}"));
    let mut rig = Rig::start_logging_writes(DiskKind::Bios, &node, &files.log, progress).await?;
    let recording = match follow_to_its_end(&mut rig, way, &files).await {
        Ok(recording) => recording,
        Err(error) => {
            rig.keep_evidence().await;
            return Err(error.context(format!("the recording's logs are in {}", node.display())));
        }
    };
    rig.cut_power()?;
    save_base(&node.join("machine/disk.qcow2"), &files.base)?;
    drop(rig);
    cut_to_its_length(&files.log)?;
    fs::remove_dir_all(&node)?;
    // The closing file: with it the recording is complete.
    let part = files.said.with_extension("new");
    fs::write(&part, serde_json::to_vec_pretty(&recording)?)?;
    Ok(fs::rename(part, &files.said)?)
}

async fn follow_to_its_end(rig: &mut Rig, way: Way, files: &Files) -> Result<Recording> {
    rig.policy(way.policy()).await?;
    rig.guest.run("sync").await?;
    let image = rig.image(way.image())?;
    let before = rig.before().await?;
    let mut log = Log::open(&files.log)?;
    rig.ask(&image).await?;
    let moments = follow(rig, way, &mut log).await?;
    match way.verdict() {
        None => rig.expect_upgraded(&before, &image).await?,
        Some(verdict) => rig.expect_fallback(&before, &[verdict]).await?,
    };
    // This also flushes the cleanup.
    rig.guest.run("sync").await?;
    let kubelet = rig.node.now().kubelet;
    Ok(Recording {
        old: System {
            commit: before.commit,
            kubelet: Some(before.kubelet),
        },
        new: System {
            commit: image.digest,
            kubelet: way.verdict().is_none().then_some(kubelet),
        },
        moments,
    })
}

/// QEMU reserves space for the longest log, in holes that a copy would fill.
fn cut_to_its_length(path: &Path) -> Result<()> {
    let mut log = Log::open(path)?;
    log.read_on()?;
    let file = fs::File::options().write(true).open(path)?;
    Ok(file.set_len(log.length())?)
}

/// Records the Node at each of its changes, until it has its answer and is Ready and schedulable.
async fn follow(rig: &mut Rig, way: Way, log: &mut Log) -> Result<Vec<Moment>> {
    let api: Api<Node> = Api::all(rig.plane.client().await?);
    let deadline = Instant::now() + UPGRADE;
    let mut moments: Vec<Moment> = Vec::new();
    loop {
        let node = api.get(NAME).await?;
        let (view, node) = (View::of(&node), ours(&node));
        if moments.last().is_none_or(|last| last.node != node) {
            moments.push(Moment {
                // Read after the Node, so that no later state of the Node is paired with an earlier
                // state of the disk.
                after: log.read_on()?,
                phase: view.phase().to_owned(),
                node,
            });
        }
        match view.answer.as_deref() {
            Some(answer) if answer == way.answer().as_str() => {
                if view.ready && view.schedulable {
                    return Ok(moments);
                }
            }
            None | Some("InProgress") => {}
            Some(other) => bail!("the answer is {other}: {:?}", view.reason),
        }
        ensure!(Instant::now() < deadline, "no answer within {UPGRADE:?}");
        rig.node.changed(Duration::from_secs(5)).await;
    }
}

/// The request, our answer and the cordon.
fn ours(node: &Node) -> Value {
    let ours = |name: &str| {
        names::TABLE
            .iter()
            .any(|row| matches!(row.kind, Kind::Annotation) && row.name == name)
    };
    let annotations: Map<String, Value> = node
        .annotations()
        .iter()
        .filter(|(name, _)| ours(name))
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    let cordoned = node.spec.as_ref().and_then(|spec| spec.unschedulable);
    json!({"metadata": {"annotations": annotations}, "spec": {"unschedulable": cordoned}})
}
