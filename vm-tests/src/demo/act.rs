//! One upgrade of the demo, as a person requests and sees it.

use std::process::Command;
use std::time::Instant;

use anyhow::{Result, ensure};
use rig::Rig;
use rig::images::Commit;
use rig::node::{NAME, Seen, View};
use upgrade::names;
use upgrade::report::Answer;

use super::live;

/// The record of one upgrade, from the request to the answer.
pub struct Act {
    /// What a person calls it.
    pub title: &'static str,
    /// When it was requested.
    pub begun: Instant,
    /// When the answer was there.
    pub ended: Instant,
    /// The Node meanwhile.
    pub seen: Vec<Seen>,
}

/// Requests an upgrade as a person would, and shows the Node's status until the answer.
pub async fn play(
    rig: &mut Rig,
    title: &'static str,
    image: &Commit,
    wanted: Answer,
) -> Result<Act> {
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
    // Waits a moment for the kubelet's own report of the boot that answered.
    let boot = rig.boot_id().await?;
    let settled = |view: &View| view.ready && view.schedulable && view.boot == boot;
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

/// Prints a command and its output.
pub fn show(rig: &Rig, arguments: &[&str]) -> Result<()> {
    println!("\n$ kubectl {}", arguments.join(" "));
    print!("{}", kubectl(rig, arguments)?);
    Ok(())
}

/// Runs kubectl as the administrator and returns its output.
pub fn kubectl(rig: &Rig, arguments: &[&str]) -> Result<String> {
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
