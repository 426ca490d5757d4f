//! The story of Careen on one machine: a node upgrades itself, then meets a bad image and comes back by itself.

pub mod capi;
mod live;
mod table;

use std::process::Command;
use std::time::Instant;

use anyhow::{Result, ensure};
use upgrade::names;
use upgrade::report::Answer;

use crate::images::{Commit, DiskKind, ensure_commit};
use crate::node::{NAME, Seen};
use crate::progress::Progress;
use crate::rig::Rig;
use crate::runner::out;

/// What was seen of one upgrade, from the request to the answer.
struct Act {
    title: &'static str,
    begun: Instant,
    ended: Instant,
    seen: Vec<Seen>,
}

/// Plays it.
///
/// # Errors
/// When a part does not start, or the story ends otherwise than it should.
pub async fn run() -> Result<()> {
    let progress = Progress::new("demo");
    progress.step("two good images and a bad one: built on first use, then from the cache");
    let (good, bad) = (ensure_commit("v2")?, ensure_commit("kubelet-crash")?);
    progress.step("a cluster and a node that has joined it: frozen on first use, then continued");
    let mut rig = Rig::start(DiskKind::Bios, &out().join("demo"), progress.clone()).await?;
    rig.before().await?;
    rig.forget_base().await?;
    show(
        &rig,
        &["get", "nodes,pods,poddisruptionbudgets", "-o", "wide"],
    )?;

    println!("\n== A new image: Kubernetes v1.36 and another kernel");
    let upgrade = play(&mut rig, "upgrade", &good, Answer::Upgraded).await?;
    show(&rig, &["get", "nodes", "-o", "wide"])?;

    println!("\n== A bad image: its kubelet never gets healthy");
    rig.policy("[health]\ndeadline-seconds = 60").await?;
    kubectl(
        &rig,
        &["annotate", "node", NAME, &format!("{}-", names::REQUEST)],
    )?;
    let fallback = play(&mut rig, "bad image", &bad, Answer::Failed).await?;
    show(&rig, &["get", "nodes", "-o", "wide"])?;
    println!(
        "\nWhy, as it stands on the Node: {}",
        rig.node.now().reason.unwrap_or_default()
    );

    println!();
    table::print(&[upgrade, fallback]);
    Ok(())
}

/// Asks as a person would, and shows what the Node says until it answers.
async fn play(rig: &mut Rig, title: &'static str, image: &Commit, wanted: Answer) -> Result<Act> {
    rig.expect_a_new_answer();
    let from = rig.node.history().len();
    let image = format!("{}={}", names::IMAGE, image.pinned());
    let request = format!("{}={}", names::REQUEST, names::REQUEST_SCHEDULED);
    let begun = Instant::now();
    show(
        rig,
        &["annotate", "--overwrite", "node", NAME, &image, &request],
    )?;
    let answer = live::follow(rig, title).await?;
    let ended = Instant::now();
    ensure!(
        answer == wanted.as_str(),
        "the answer is {answer}, not {}",
        wanted.as_str()
    );
    // A moment for the kubelet's own report of the boot that answered.
    let boot = rig.boot_id().await?;
    let settled = |view: &crate::node::View| view.ready && view.schedulable && view.boot == boot;
    rig.node
        .wait("the node is Ready and schedulable", live::PATIENCE, settled)
        .await?;
    let seen = rig.node.history().split_off(from);
    Ok(Act {
        title,
        begun,
        ended,
        seen,
    })
}

/// Prints a command and what it says.
fn show(rig: &Rig, arguments: &[&str]) -> Result<()> {
    println!("\n$ kubectl {}", arguments.join(" "));
    print!("{}", kubectl(rig, arguments)?);
    Ok(())
}

fn kubectl(rig: &Rig, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(rig.plane.program("kubectl"));
    let output = command
        .arg("--kubeconfig")
        .arg(rig.plane.admin_kubeconfig())
        .args(arguments)
        .output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "kubectl {}: {complaint}",
        arguments.join(" ")
    );
    Ok(String::from_utf8(output.stdout)?)
}
