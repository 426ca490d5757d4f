//! One upgrade with the power on: all that it wrote to the disk, and how the Node was meanwhile.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use upgrade::names::{self, Kind};

use super::writes::Log;
use crate::images::DiskKind;
use crate::node::NAME;
use crate::progress::Progress;
use crate::rig::{Rig, UPGRADE};

/// One trial: a node that the power left in it falls back at once, and a cut costs one boot.
pub const POLICY: &str = "trials = 1";

/// What is recorded.
#[derive(Debug, Serialize, Deserialize)]
pub struct Recording {
    /// The commit that ran before.
    pub old: String,
    /// The commit that was asked for.
    pub new: String,
    /// The Node at each of its changes since the request, the oldest first.
    pub moments: Vec<Moment>,
}

/// A change of the Node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Moment {
    /// So many requests had been made to the disk.
    pub after: usize,
    /// What the Node said of the upgrade.
    pub phase: String,
    /// What is ours on the Node, and the cordon, as a patch that makes it so again.
    pub node: Value,
}

/// Where a recording lies.
#[derive(Debug, Clone)]
pub struct Files {
    /// The disk as the node joined with it.
    pub base: PathBuf,
    /// All writes and flushes.
    pub log: PathBuf,
    said: PathBuf,
}

impl Files {
    /// In this folder.
    #[must_use]
    pub fn in_folder(dir: &Path) -> Self {
        Self {
            base: dir.join("base.raw"),
            log: dir.join("writes.log"),
            said: dir.join("recording.json"),
        }
    }

    /// Removes them, the last word of the recording first.
    ///
    /// # Errors
    /// When one cannot be removed.
    pub fn remove(&self) -> Result<()> {
        for file in [&self.said, &self.log, &self.base] {
            if file.exists() {
                fs::remove_file(file).with_context(|| file.display().to_string())?;
            }
        }
        Ok(())
    }

    /// Reads what was recorded.
    ///
    /// # Errors
    /// When there is no whole recording.
    pub fn read(&self) -> Result<(Recording, Log)> {
        let text = fs::read(&self.said).context("no recording of an upgrade")?;
        let mut log = Log::open(&self.log)?;
        log.read_on()?;
        Ok((serde_json::from_slice(&text)?, log))
    }
}

impl Recording {
    /// The Node when so many requests had been made.
    #[must_use]
    pub fn moment(&self, after: usize) -> Option<&Moment> {
        let before = |moment: &&Moment| moment.after <= after;
        self.moments.iter().rev().find(before)
    }
}

/// Upgrades a node to the image `name` and keeps everything in `dir`.
///
/// # Errors
/// When the upgrade fails.
pub async fn record(name: &str, dir: &Path) -> Result<()> {
    let node = dir.join("node");
    fs::create_dir_all(dir)?;
    let files = Files::in_folder(dir);
    let progress = Progress::new("soak, recording");
    let mut rig = Rig::start_logging_writes(DiskKind::Bios, &node, &files.log, progress).await?;
    rig.policy(POLICY).await?;
    rig.guest.run("sync").await?;
    let image = rig.image(name)?;
    let before = rig.before().await?;
    let mut log = Log::open(&files.log)?;
    rig.ask(&image).await?;
    let moments = follow(&mut rig, &mut log).await?;
    rig.expect_upgraded(&before, &image).await?;
    // What has been cleaned up is flushed when this is.
    rig.guest.run("sync").await?;
    rig.cut_power()?;
    let recording = Recording {
        old: before.commit,
        new: image.digest.clone(),
        moments,
    };
    save_base(&node.join("machine/disk.qcow2"), &files.base)?;
    fs::write(&files.said, serde_json::to_vec_pretty(&recording)?)?;
    Ok(())
}

/// The disk below the overlay, which the recorded writes went to.
fn save_base(overlay: &Path, to: &Path) -> Result<()> {
    let info = Command::new("qemu-img")
        .args(["info", "--output=json"])
        .arg(overlay)
        .output()
        .context("cannot run qemu-img")?;
    let info: Value = serde_json::from_slice(&info.stdout)?;
    let Some(base) = info["full-backing-filename"].as_str() else {
        bail!("{} lies over nothing", overlay.display());
    };
    let mut convert = Command::new("qemu-img");
    convert.args(["convert", "-O", "raw", base]).arg(to);
    let status = convert.status()?;
    ensure!(status.success(), "qemu-img convert: {status}");
    Ok(())
}

/// The Node at each of its changes until it says Upgraded.
async fn follow(rig: &mut Rig, log: &mut Log) -> Result<Vec<Moment>> {
    let api: Api<Node> = Api::all(rig.plane.client().await?);
    let deadline = Instant::now() + UPGRADE;
    let mut moments: Vec<Moment> = Vec::new();
    loop {
        let view = rig.node.now();
        let node = ours(&api.get(NAME).await?);
        if moments.last().is_none_or(|last| last.node != node) {
            moments.push(Moment {
                after: log.read_on()?,
                phase: view.phase().to_owned(),
                node,
            });
        }
        match view.answer.as_deref() {
            Some("Upgraded") => return Ok(moments),
            Some("Failed") => bail!("the upgrade failed: {:?}", view.reason),
            Some(_) | None => {}
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
