//! C4: one raise, and `kubeadm upgrade` by hand, on the same cluster of one. Each goes one patch
//! further than the one before it.

use std::path::Path;

use anyhow::{Context, Result};
use careen_tests::measured::median;
use careen_tests::row::Row;
use native::{Cluster, Images, Member, until};

use crate::hand;
use crate::measured::{self, Took};

/// The version of the tests' control plane has room for so many times three patches of one digit.
const ROUNDS: usize = 2;

/// Inside of a member, which has no physical root of its own.
const SYSROOT: &str = "/var/sysroot";

/// Measures all rounds.
pub async fn measure(control: &Path) -> Result<Vec<Row>> {
    let cluster = Cluster::start(1)?;
    let member = cluster.members().first().context("no member")?;
    member.run("mkdir", &["-p", SYSROOT])?;
    let control = control.to_str().context("a path that is no text")?;
    let mut next = cluster.images().next_patch()?;
    let (mut raised, mut alone, mut usual) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        eprintln!("C4: round {round} of {ROUNDS}");
        let raise = command(member, control, cluster.images(), &next)?;
        raised.push(ran(member, raise).await?);
        next = next.next_patch()?;
        alone.push(ran(member, hand::kubeadm(member, "apply", &next, false)?).await?);
        next = next.next_patch()?;
        usual.push(ran(member, hand::kubeadm(member, "apply", &next, true)?).await?);
        if round < ROUNDS {
            next = next.next_patch()?;
        }
    }
    Ok(rows(&raised, &alone, &usual))
}

fn command(
    member: &Member,
    control: &str,
    old: &Images,
    to: &Images,
) -> Result<std::process::Command> {
    let (kubeadm, old) = (to.commands().join("kubeadm"), old.commands());
    let words = [
        control,
        "raise",
        "--upgrade",
        to.version(),
        "--target-version",
        to.version(),
        "--kubeadm",
        kubeadm.to_str().context("a path that is no text")?,
        "--old-kubelet-path",
        old.to_str().context("a path that is no text")?,
        "--sysroot",
        SYSROOT,
        "--ignore-preflight-errors",
        "all",
        "--skip-phases",
        "preflight",
    ];
    let mut command = measured::command(member, &words)?;
    command.env_remove("KUBECONFIG");
    Ok(command)
}

/// Runs it to its end, and waits until the member is quiet again.
async fn ran(member: &Member, command: std::process::Command) -> Result<Took> {
    let took = measured::run(command, &[0]).await?;
    eprintln!("{took:?}");
    until("the API server is ready", async || {
        member.api_server_is_ready().await
    })
    .await;
    Ok(took)
}

fn rows(raised: &[Took], alone: &[Took], usual: &[Took]) -> Vec<Row> {
    let all = |took: &[Took], value: fn(&Took) -> f64| took.iter().map(value).collect::<Vec<_>>();
    let ratios = raised.iter().zip(alone);
    let seconds = median(&all(alone, |took| took.seconds));
    let floor = format!("kubeadm with etcdUpgrade false: {seconds:.1} s");
    let row = |name, runs, floor: &str, target| Row {
        name,
        runs,
        floor: floor.to_owned(),
        target,
    };
    let written = format!(
        "kubeadm with etcdUpgrade false: {:.1} MiB, true: {:.1} MiB",
        median(&all(alone, |took| took.written_mib)),
        median(&all(usual, |took| took.written_mib))
    );
    let ratios = ratios.map(|(raised, alone)| raised.seconds / alone.seconds);
    vec![
        row(
            "C4 raise over kubeadm upgrade",
            ratios.collect(),
            &floor,
            None,
        ),
        row(
            "   raise, s",
            all(raised, |took| took.seconds),
            &floor,
            None,
        ),
        row(
            "   written by it, MiB",
            all(raised, |took| took.written_mib),
            &written,
            None,
        ),
    ]
}
