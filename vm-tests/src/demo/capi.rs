//! The same demo with Cluster API. A MachineDeployment's version changes, its one node gets a bad
//! image and falls back, and another image in the catalogue completes the upgrade. The Machine
//! remains the same all the time.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use rig::Rig;
use rig::adopted::{self, Adopted, CLUSTER, DEPLOYMENT};
use rig::boots::boots;
use rig::images::{Commit, DiskKind, ensure_commit};
use rig::node::{NAME, View};
use rig::progress::Progress;
use serde_json::json;
use testkit::cluster_api::provider::CATALOGUE;
use testkit::programs::out;
use upgrade::report::Answer;

use super::act::{Act, show};
use super::live::{Line, words};
use super::table;

/// The version of both images.
const VERSION: &str = "v1.36.3";

/// Cluster API's prefix to the message of a hook.
const PREFIX: &str = "In-place update in progress: ";

/// The length of the Machine's message in the live line.
const WORDS: usize = 50;

/// A node and its Machine. The managers end before the API server that they use.
struct Stage {
    adopted: Adopted,
    rig: Rig,
}

/// Runs the demo.
///
/// # Errors
///
/// Fails when a part does not start, or the demo ends in an unexpected way.
pub async fn run() -> Result<()> {
    let progress = Progress::new("demo-capi");
    progress.step("a bad image and a good one: built on first use, then from the cache");
    let (bad, good) = (ensure_commit("kubelet-crash")?, ensure_commit("v2")?);
    let mut stage = set_the_stage(&progress).await?;
    let before = stage.adopted.identities().await?;

    println!(
        "\n== The MachineDeployment's version changes; the image for it is bad: its kubelet never gets healthy"
    );
    let held = stage.hold(&bad).await?;
    println!(
        "\n== The catalogue names another image for the same version, and nothing else changes"
    );
    let healed = stage.heal(&good).await?;

    println!();
    table::print(&[held, healed]);
    println!();
    for (kind, uids) in stage.adopted.identities().await? {
        let same = if before.get(kind) == Some(&uids) {
            "the same as before"
        } else {
            "ANOTHER ONE"
        };
        println!("{kind:<24}{}  {same}", uids.join(" "));
    }
    let boots = boots(&stage.rig.node.history());
    println!("{:<24}{}", "boots, with the first", boots.len());
    stage.adopted.expect_the_same().await
}

async fn set_the_stage(progress: &Progress) -> Result<Stage> {
    progress.step("Cluster API's managers and careen-provider: built on first use (minutes)");
    adopted::build()?;
    progress.step("a cluster and a node that has joined it: frozen on first use, then continued");
    let dir = out().join("demo-capi");
    let mut rig = Rig::start(DiskKind::Bios, &dir, progress.clone()).await?;
    rig.plane.miss_silent_nodes_as_kubernetes_does()?;
    let before = rig.before().await?;
    rig.policy("[health]\ndeadline-seconds = 60").await?;
    progress.step("Cluster API makes the node the one Machine of a MachineDeployment");
    let adopted = Adopted::start(&rig.plane, NAME, &before.kubelet).await?;
    let stage = Stage { adopted, rig };
    stage.show_all()?;
    Ok(stage)
}

impl Stage {
    /// From the version change until the Machine says why it is not updated.
    async fn hold(&mut self, bad: &Commit) -> Result<Act> {
        self.adopted.catalogue(VERSION, &bad.pinned()).await?;
        let change =
            json!({ "spec": { "template": { "spec": { "version": VERSION } } } }).to_string();
        let patch = [
            "patch",
            "machinedeployment",
            DEPLOYMENT,
            "-n",
            CLUSTER,
            "--type=merge",
            "-p",
            &change,
        ];
        let act = self
            .play("capi bad", &patch, Answer::Failed, |stage| stage.says_why())
            .await?;
        self.show_all()?;
        let why = self.adopted.machine()?.updating.unwrap_or_default();
        println!("\nWhy, as the Machine says: {why}");
        Ok(act)
    }

    /// From the change in the catalogue until the Machine is up to date.
    async fn heal(&mut self, good: &Commit) -> Result<Act> {
        // The short deadline was only for the bad image.
        self.rig.policy("").await?;
        let images = json!([{ "kubernetesVersion": VERSION, "image": good.pinned() }]);
        let change = json!({ "spec": { "images": images } }).to_string();
        let patch = [
            "patch",
            "imagecatalogue",
            CATALOGUE,
            "--type=merge",
            "-p",
            &change,
        ];
        let arrived = |stage: &Self| Ok(stage.adopted.machine()?.serves(VERSION));
        let act = self
            .play("capi good", &patch, Answer::Upgraded, arrived)
            .await?;
        self.show_all()?;
        Ok(act)
    }

    /// Runs a command as a person would, and shows Node and Machine until `ended`. The Node may
    /// give only the answer `wanted`.
    async fn play(
        &mut self,
        title: &'static str,
        command: &[&str],
        wanted: Answer,
        ended: impl Fn(&Self) -> Result<bool>,
    ) -> Result<Act> {
        self.rig.expect_a_new_answer();
        let from = self.rig.node.history().len();
        let begun = Instant::now();
        show(&self.rig, command)?;
        let mut line = Line::begin(title);
        while !ended(self)? {
            line.show(self.words()?);
            self.expect_no_other(wanted)?;
            self.adopted.check()?;
            ensure!(
                line.has_time(),
                "it does not come to its end: {}",
                self.words()?
            );
            self.rig.node.changed(Duration::from_secs(1)).await;
        }
        line.show(self.words()?);
        line.end();
        let (ended, seen) = (Instant::now(), self.rig.node.history().split_off(from));
        Ok(Act {
            title,
            begun,
            ended,
            seen,
        })
    }

    /// The messages of the Node since the last change, and of the Machine.
    fn words(&self) -> Result<String> {
        let told = self.adopted.machine()?.updating.unwrap_or_default();
        let told = told.strip_prefix(PREFIX).unwrap_or(&told);
        let told: String = told.chars().take(WORDS).collect();
        let node = self
            .answer()
            .and_then(|view| words(&view))
            .unwrap_or_default();
        Ok(format!("{node}  Machine: {told}"))
    }

    /// The Node's answer to the last request.
    fn answer(&self) -> Option<View> {
        let view = self.rig.node.now();
        self.rig.is_new_answer(&view).then_some(view)
    }

    fn expect_no_other(&self, wanted: Answer) -> Result<()> {
        let Some(view) = self.answer() else {
            return Ok(());
        };
        match view.answer.as_deref() {
            None => Ok(()),
            Some(answer) if answer == wanted.as_str() || answer == Answer::InProgress.as_str() => {
                Ok(())
            }
            Some(other) => bail!("the answer is {other}: {}", view.reason.unwrap_or_default()),
        }
    }

    /// Whether the node is back, serves, and the Machine shows its reason.
    fn says_why(&self) -> Result<bool> {
        let Some(view) = self.answer() else {
            return Ok(false);
        };
        let failed = view.answer.as_deref() == Some(Answer::Failed.as_str());
        let reason = view.reason.filter(|reason| failed && !reason.is_empty());
        let told = self.adopted.machine()?.updating.unwrap_or_default();
        let reached = reason.is_some_and(|reason| told.contains(&reason));
        Ok(reached && view.ready && view.schedulable)
    }

    fn show_all(&self) -> Result<()> {
        show(
            &self.rig,
            &["get", "machinedeployments,machines", "-n", CLUSTER],
        )?;
        show(&self.rig, &["get", "nodes", "-o", "wide"])
    }
}
