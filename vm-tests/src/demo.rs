//! A demonstration of Careen on one machine: in each of its three modes, as in the tutorial, and
//! with a reader's own image, disk and node.

mod annotate;
mod capi;
mod daemonset;
mod live;
mod newcomer;
mod prepare;
mod table;
mod tutorial;

use std::process::Command;
use std::time::Instant;

use anyhow::{Result, ensure};
use clap::ValueEnum;
use upgrade::names;
use upgrade::report::Answer;

use crate::images::Commit;
use crate::node::{NAME, Seen};
use crate::rig::Rig;

/// The way to request upgrades and to install the agent, or the pages to type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// Annotate a Node: an upgrade, then a bad image and the way back
    Annotate,
    /// A DaemonSet brings the agent, then the Node is annotated
    Daemonset,
    /// Cluster API: a rollout that holds at a bad image, and the image that heals it
    ClusterApi,
    /// The tutorial: each of its lines, as a newcomer types them (half an hour)
    Tutorial,
    /// An image, a disk and a node of one's own, as docs/images.md and docs/install.md say (more
    /// than an hour)
    Newcomer,
}

/// The record of one upgrade, from the request to the answer.
struct Act {
    title: &'static str,
    begun: Instant,
    ended: Instant,
    seen: Vec<Seen>,
}

/// Runs the demo and prints which other ways there are.
///
/// # Errors
///
/// Fails when a part does not start, or the demo ends in an unexpected way.
pub async fn run(way: Way) -> Result<()> {
    prepare::prepare()?;
    match way {
        Way::Annotate => annotate::run().await?,
        Way::Daemonset => daemonset::run().await?,
        Way::ClusterApi => capi::run().await?,
        Way::Tutorial => tutorial::run().await?,
        Way::Newcomer => newcomer::run().await?,
    }
    println!("\nThe ways to use it; this was {}:", way.command());
    for way in Way::value_variants() {
        println!("  {:<28}{}", way.command(), way.help());
    }
    Ok(())
}

impl Way {
    fn command(self) -> String {
        let value = self.to_possible_value();
        let name = value.as_ref().map_or("", |value| value.get_name());
        format!("make demo WAY={name}")
    }

    fn help(self) -> String {
        let value = self.to_possible_value();
        let help = value.as_ref().and_then(|value| value.get_help());
        help.map(ToString::to_string).unwrap_or_default()
    }
}

/// Requests an upgrade as a person would, and shows the Node's status until the answer.
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
    // Waits a moment for the kubelet's own report of the boot that answered.
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

/// Prints a command and its output.
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

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::programs;

    #[test]
    fn each_way_is_named_where_a_newcomer_looks() -> Result<()> {
        for file in ["Makefile", "README.md"] {
            let text = std::fs::read_to_string(programs::home().join("..").join(file))?;
            for way in Way::value_variants() {
                let command = way.command();
                let name = command.trim_start_matches("make demo ");
                assert!(text.contains(name), "{file} does not name {name}");
            }
        }
        Ok(())
    }

    #[test]
    fn demo_has_five_ways_and_each_has_help() {
        let ways = Way::value_variants();
        assert_eq!(ways.len(), 5);
        assert!(ways.iter().all(|way| !way.help().is_empty()));
    }
}
