//! The only control-plane node of a cluster upgrades itself together with its control plane, falls
//! back from a bad image, and loses its etcd, which is restored from the snapshot of the upgrade.

use std::time::Instant;

use anyhow::{Result, ensure};
use rig::Rig;
use rig::control_plane::{Components, SERVES};
use rig::far;
use rig::images::{DiskKind, ensure_commit};
use rig::node::NAME;
use rig::progress::Progress;
use testkit::etcdutl;
use testkit::programs::out;
use testkit::ticker::Ticker;
use upgrade::names;
use upgrade::report::Answer;

use super::act::{kubectl, play, show};
use super::table;

/// Steps 1 to 5 of "Restore the control plane" in docs/control-planes.md, for one member.
const RESTORE: [(&str, &str); 5] = [
    (
        "stop the static pods",
        "mkdir /etc/kubernetes/stopped\nmv /etc/kubernetes/manifests/*.yaml /etc/kubernetes/stopped/",
    ),
    (
        "wait until they are gone",
        "while pgrep -x 'etcd|kube-apiserver'; do sleep 2; done",
    ),
    (
        "put the old data aside",
        "mv /var/lib/etcd /var/lib/etcd.broken",
    ),
    (
        "restore",
        "/var/lib/careen-rig/etcdutl snapshot restore /var/lib/snapshot.db --data-dir /var/lib/etcd --name node1 --initial-advertise-peer-urls https://10.0.2.15:2380 --initial-cluster node1=https://10.0.2.15:2380 --bump-revision 1000000000 --mark-compacted 2>&1",
    ),
    (
        "start the static pods",
        "mv /etc/kubernetes/stopped/*.yaml /etc/kubernetes/manifests/",
    ),
];

/// What a person sees of the cluster.
const LOOK: &[&str] = &["get", "nodes,pods", "--all-namespaces", "-o", "wide"];

/// Runs the demo.
///
/// # Errors
///
/// Fails when a part does not start, or the demo ends in an unexpected way.
pub async fn run() -> Result<()> {
    let progress = Progress::new("demo");
    progress.step("a good image and a bad one: built on first use, then from the cache");
    let (good, bad) = (ensure_commit("v2")?, ensure_commit("kubelet-crash")?);
    far::prepare()?;
    let mut rig = set_the_stage(&progress).await?;
    show(&rig, LOOK)?;

    println!("\n== A new image: Kubernetes v1.36, also for the control plane of this node");
    let upgrade = play(&mut rig, "upgrade", &good, Answer::Upgraded).await?;
    rig.wait_control_plane(&Components::new()).await?;
    show(&rig, LOOK)?;

    println!("\n== A bad image: its kubelet never gets healthy");
    ask_no_more(&rig)?;
    let fallback = play(&mut rig, "bad image", &bad, Answer::Failed).await?;
    rig.wait_control_plane(&Components::new()).await?;
    println!(
        "\nWhy, as the Node says: {}",
        rig.node.now().reason.unwrap_or_default()
    );
    show(&rig, LOOK)?;

    println!("\n== The disk of etcd is lost, and the snapshot of the last upgrade is not");
    let begun = Instant::now();
    restore(&mut rig).await?;
    show(&rig, LOOK)?;
    println!();
    table::print(&[upgrade, fallback]);
    println!(
        "{:<24}{:>10.1}",
        "restore of etcd",
        begun.elapsed().as_secs_f64()
    );
    Ok(())
}

async fn set_the_stage(progress: &Progress) -> Result<Rig> {
    progress.step("a node: frozen on first use, then continued");
    let ticker = Ticker::begin("the control plane");
    let mut rig = Rig::start(DiskKind::Bios, &out().join("demo"), progress.clone()).await?;
    rig.become_control_plane().await?;
    rig.wait_control_plane(&Components::new()).await?;
    ticker.end();
    Ok(rig)
}

fn ask_no_more(rig: &Rig) -> Result<()> {
    let request = format!("{}-", names::REQUEST);
    kubectl(rig, &["annotate", "node", NAME, &request]).map(drop)
}

/// Destroys the data of etcd and restores it.
async fn restore(rig: &mut Rig) -> Result<()> {
    let program = etcdutl::program()?;
    rig.bring(&program, "/var/lib/careen-rig/etcdutl").await?;
    let before = rig.components().await?;
    rig.guest
        .run("chmod 755 /var/lib/careen-rig/etcdutl && cp $(ls -t /var/lib/careen/etcd/*.db | head -n 1) /var/lib/snapshot.db && rm -rf /var/lib/etcd/member/*")
        .await?;
    for (what, command) in RESTORE {
        println!("\n{what}:");
        for line in command.lines() {
            println!("    # {line}");
        }
        print!("{}", rig.guest.run_within(command, SERVES).await?);
    }
    let serves = rig.wait_control_plane(&before).await?;
    ensure!(!serves.is_empty(), "no component serves");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::programs;

    #[test]
    fn restore_takes_the_commands_of_the_page() -> Result<()> {
        let page = programs::home().join("../docs/control-planes.md");
        let page = std::fs::read_to_string(page)?;
        for (what, command) in RESTORE {
            for line in command.lines() {
                let first: Vec<_> = line
                    .split(' ')
                    .skip_while(|word| word.contains("/etcdutl"))
                    .take(3)
                    .collect();
                let words = first.join(" ");
                assert!(
                    page.contains(&words),
                    "{what}: the page does not say {words:?}"
                );
            }
        }
        Ok(())
    }
}
